import { type Api, explain, Refusal } from './api.ts'
import { element } from './element.ts'
import { stored } from './stored.ts'

/** Whose session it is; the answer of `/v1/whoami`. */
export interface WhoAmI {
  readonly account: string
  readonly scope: string
  /** Absent for an account that sees all records. */
  readonly grants?: readonly string[]
}

/**
 * Set while the browser should have a session: without one, no call is made that would be refused. Other windows hear when
 * it is set or taken away.
 */
const SETTING = 'connbook-session'
/** How long to wait for a server that cannot say whose session it is. */
const RETRY_MS = 2_000

/** The session that the browser's cookie carries. */
export class Session {
  #caller: WhoAmI | undefined
  /** Whose records the page may show, and what was typed; null for nobody's. */
  #account: string | null = null
  #isLeaving = false
  #login: Promise<void> | undefined
  #shown: ShownLogin | undefined
  readonly #changed: () => void

  /** @param changed Called when it is known, or has changed, whose session it is. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get caller(): WhoAmI | undefined {
    return this.#caller
  }

  /** Ends when somebody has logged in; undefined while nobody has to. */
  get login(): Promise<void> | undefined {
    return this.#login
  }

  get mayWrite(): boolean {
    return this.#caller?.scope.split(' ').includes('write') ?? false
  }

  get mayAdminister(): boolean {
    return this.#caller?.scope.split(' ').includes('admin') ?? false
  }

  /** Finds out whose session it is; resolves at once if there should be one, and otherwise after a login. */
  async begin(api: Api): Promise<void> {
    this.#account = stored.get(SETTING)
    addEventListener('storage', ({ key, newValue }) => key === SETTING && this.#hear(api, newValue))
    // A page that the browser kept for the way back has heard nothing meanwhile.
    addEventListener('pageshow', ({ persisted }) => persisted && this.#hear(api, stored.get(SETTING)))
    addEventListener('beforeunload', (event) => this.#isLeaving && event.stopImmediatePropagation())
    if (this.#account === null) await this.logIn(api)
    else void this.#find(api)
  }

  /** Shows the login, once for all calls that need it. */
  logIn(api: Api): Promise<void> {
    this.#login ??= this.#logIn(api).finally(() => {
      this.#login = undefined
    })
    return this.#login
  }

  /**
   * Ends the session, and starts again at the login.
   *
   * @throws {Refusal} {Unreachable} if it has not ended.
   */
  async logOut(api: Api): Promise<void> {
    const answer = await api.once('logout', { method: 'POST' })
    if (answer.status !== 200 && answer.status !== 403) throw new Refusal(answer)
    stored.remove(SETTING)
    location.reload()
  }

  /**
   * Another window has logged in, or its session has ended.
   *
   * @param account Who should be logged in now; null for nobody.
   */
  #hear(api: Api, account: string | null) {
    if (this.#login !== undefined) {
      if (account !== null) this.#shown?.end()
      return
    }
    if (account !== this.#account) cover(true)
    void this.#find(api)
  }

  async #find(api: Api): Promise<void> {
    const caller = await whoAmI(api)
    if (caller === undefined) await this.logIn(api)
    else await this.#take(caller)
  }

  async #logIn(api: Api): Promise<void> {
    stored.remove(SETTING)
    cover(true)
    let notice = this.#caller === undefined ? '' : 'The session has ended. Log in to go on where you were.'
    for (;;) {
      const login = showLogin(api, notice)
      this.#shown = login
      await login.ended
      const caller = await whoAmI(api)
      if (caller !== undefined) await this.#take(caller)
      login.close()
      if (caller !== undefined) return
      notice = 'The browser has not kept the session. Allow cookies of this server.'
    }
  }

  async #take(caller: WhoAmI): Promise<void> {
    stored.set(SETTING, caller.account)
    if (this.#account !== null && this.#account !== caller.account) {
      // What the other user had open is not this one's to see, to send or to keep.
      cover(true)
      this.#isLeaving = true
      location.reload()
      await new Promise(() => {})
    }
    this.#account = caller.account
    this.#caller = caller
    cover(false)
    this.#changed()
  }
}

/** Hides all that the page shows, while nobody is logged in, from eyes, copies and screen readers; all of it stays. */
function cover(isCovered: boolean) {
  document.documentElement.toggleAttribute('data-covered', isCovered)
  if (isCovered) document.title = 'connbook'
}

/** Asks until the server says; undefined if there is no session. */
async function whoAmI(api: Api): Promise<WhoAmI | undefined> {
  for (;;) {
    const answer = await api.once('v1/whoami').catch(() => undefined)
    if (answer?.status === 200) return JSON.parse(answer.text) as WhoAmI
    if (answer?.status === 403) return undefined
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** A login that is shown. */
interface ShownLogin {
  /** Resolves when somebody has logged in, here or in another window. */
  readonly ended: Promise<void>
  end(): void
  /** Takes it away. */
  close(): void
}

/**
 * Asks for user and password until the server takes them. Lies over the page, which keeps what was typed in it.
 *
 * @param notice Why it asks; empty at the beginning.
 */
function showLogin(api: Api, notice: string): ShownLogin {
  const { promise, resolve } = Promise.withResolvers<void>()
  const user = element('input', {
    id: 'login-user',
    name: 'username',
    autocomplete: 'username',
    autocapitalize: 'none',
    spellcheck: 'false',
    required: true,
    autofocus: true,
  })
  const password = element('input', {
    id: 'login-password',
    name: 'password',
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  })
  const message = element('p', { class: 'fault', role: 'alert' })
  const submit = element('button', { class: 'primary' }, 'Log in')
  const form = element(
    'form',
    { submit: (event) => void logIn(event) },
    element('h2', {}, 'connbook'),
    notice !== '' && element('p', {}, notice),
    element('label', { for: 'login-user' }, 'User'),
    user,
    element('label', { for: 'login-password' }, 'Password'),
    password,
    message,
    submit,
  )
  const dialog = element('dialog', { class: 'login', 'aria-label': 'Log in', closedby: 'none' }, form)
  // Without a session there is nothing behind it to go back to.
  dialog.addEventListener('cancel', (event) => event.preventDefault())
  document.body.append(dialog)
  dialog.showModal()
  return { ended: promise, end: resolve, close }

  function close() {
    dialog.close()
    dialog.remove()
  }

  async function logIn(event: Event) {
    event.preventDefault()
    submit.disabled = true
    message.textContent = ''
    try {
      const answer = await api.once('login', {
        method: 'POST',
        json: { username: user.value, password: password.value },
      })
      if (answer.status !== 200) throw new Refusal(answer)
      resolve()
    } catch (error) {
      message.textContent = reasonOf(error)
      password.select()
      submit.disabled = false
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Refusal)) return explain(error)
  const { status, retryAfterSeconds = 1, code } = error
  if (status === 401) return 'User or password is wrong.'
  if (status === 429) return `Too many attempts: try again in ${retryAfterSeconds} s.`
  if (code === 'starting')
    return `The server is still reading its records: try again in ${retryAfterSeconds} s.`
  return explain(error)
}
