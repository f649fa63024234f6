import type { BrowserContext, ConsoleMessage, Request } from 'playwright-core'

/** What a test brings about itself, so that it is not a finding. */
export interface Expected {
  /** HTTP statuses from 400 on; chromium writes an error to its console for each such answer. */
  readonly statuses?: readonly number[]
  /** Whether connections may break or be refused: the server is killed, or the page is set offline. */
  readonly hasLostConnections?: boolean
  /** Other errors in the browser's console. */
  readonly messages?: readonly RegExp[]
}

/** Something that no page may do. */
export interface Finding {
  readonly kind: 'console error' | 'CSP violation' | 'failed request' | 'other host' | 'page error'
  /** In chromium's words, with the URL. */
  readonly detail: string
}

const CSP_VIOLATION = /Content Security Policy|requires '\w+' assignment/
const REFUSED = /^Failed to load resource: the server responded with a status of (\d{3})/
const LOST =
  /net::ERR_(CONNECTION_\w+|CONTENT_LENGTH_MISMATCH|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|INTERNET_DISCONNECTED|NETWORK_CHANGED|SOCKET_NOT_CONNECTED)\b/

/**
 * Watches every page that a context has or will have.
 *
 * @param url Of the server: requests to any other host or port are findings.
 * @returns Gives the findings so far.
 */
export function watchContext(
  context: BrowserContext,
  url: string,
  expected: Expected = {},
): () => Promise<readonly Finding[]> {
  const { host } = new URL(url)
  const findings: Finding[] = []
  const find = (kind: Finding['kind'], detail: string) => findings.push({ kind, detail })
  const checkHost = (what: string, target: string) => {
    const to = new URL(target)
    if (/^(https?|wss?):$/.test(to.protocol) && to.host !== host) find('other host', `${what} ${target}`)
  }

  context.on('console', (message) => {
    const text = message.text()
    if (message.type() !== 'error' || isExpected(text, expected)) return
    find(CSP_VIOLATION.test(text) ? 'CSP violation' : 'console error', `${text} at ${placeOf(message)}`)
  })
  context.on('weberror', (error) => {
    const { stack, message } = error.error()
    find('page error', stack ?? message)
  })
  context.on('request', (request) => checkHost(request.method(), request.url()))
  context.on('page', (page) => page.on('websocket', (socket) => checkHost('WebSocket', socket.url())))
  context.on('requestfailed', (request) => {
    const reason = reasonOf(request)
    // A page may break off its own requests, and one that the policy blocked is in the console.
    if (['net::ERR_ABORTED', 'csp'].includes(reason) || isLost(reason, expected)) return
    find('failed request', `${request.method()} ${request.url()}: ${reason}`)
  })

  return async () => {
    // Events come in order: after an answer of the page, those from before it are here.
    await Promise.all(context.pages().map((page) => page.evaluate('0').catch(() => {})))
    return findings
  }
}

function isExpected(text: string, { statuses = [], messages = [], ...expected }: Expected): boolean {
  const status = REFUSED.exec(text)?.[1]
  if (status !== undefined && statuses.includes(Number(status))) return true
  return isLost(text, expected) || messages.some((message) => message.test(text))
}

function isLost(text: string, { hasLostConnections = false }: Expected): boolean {
  return hasLostConnections && LOST.test(text)
}

function placeOf(message: ConsoleMessage): string {
  const { url, lineNumber } = message.location()
  return `${url}:${lineNumber + 1}`
}

function reasonOf(request: Request): string {
  return request.failure()?.errorText ?? 'no reason given'
}
