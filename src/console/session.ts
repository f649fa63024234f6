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

  get mayWrite(): boolean {
    return this.#caller?.scope.split(' ').includes('write') ?? false
  }

  get mayAdminister(): boolean {
    return this.#caller?.scope.split(' ').includes('admin') ?? false
  }

  /** Finds out whose session it is; resolves at once if there should be one, and otherwise after a login. */
  async begin(api: Api): Promise<void> {
    // Another window has logged in, or its session has ended.
    addEventListener('storage', ({ key, newValue }) => {
      if (key !== SETTING) return
      if (this.#login === undefined) void this.#find(api)
      else if (newValue !== null) this.#shown?.end()
    })
    if (stored.get(SETTING) === null) await this.logIn(api)
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

  async #find(api: Api): Promise<void> {
    const caller = await whoAmI(api)
    if (caller === undefined) await this.logIn(api)
    else await this.#take(caller)
  }

  async #logIn(api: Api): Promise<void> {
    stored.remove(SETTING)
    const before = this.#caller
    let notice = before === undefined ? '' : 'The session has ended. Log in to go on where you were.'
    let caller: WhoAmI | undefined
    while (caller === undefined) {
      this.#shown = showLogin(api, notice)
      await this.#shown.ended
      caller = await whoAmI(api)
      notice = 'The browser has not kept the session. Allow cookies of this server.'
    }
    await this.#take(caller)
  }

  async #take(caller: WhoAmI): Promise<void> {
    stored.set(SETTING, caller.account)
    if (this.#caller !== undefined && this.#caller.account !== caller.account) {
      // What the other user had open is not this one's to send.
      location.reload()
      await new Promise(() => {})
    }
    this.#caller = caller
    this.#changed()
  }
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
  readonly ended: Promise<void>
  /** Takes it away. */
  end(): void
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
  return { ended: promise, end }

  function end() {
    dialog.close()
    dialog.remove()
    resolve()
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
      end()
    } catch (error) {
      message.textContent = reasonOf(error)
      password.select()
    } finally {
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
