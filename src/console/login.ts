import { type Api, explain, Refusal } from './api.ts'
import { element } from './element.ts'

/** A login that is shown. */
export interface Login {
  readonly ended: Promise<void>
  /** Takes it away. */
  end(): void
}

/**
 * Asks for user and password until the server takes them. Lies over the page, which keeps what was typed in it.
 *
 * @param notice Why it asks; empty at the beginning.
 */
export function showLogin(api: Api, notice: string): Login {
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
