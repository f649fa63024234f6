import type { Fault } from '../errors.ts'

/** How long to wait for a server that cannot be reached. */
const RETRY_SECONDS = 2

/** An answer, read whole. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  readonly text: string
}

/** What is sent to a path, and which answers are good. */
export interface ApiRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is. */
  readonly body?: Blob | string
  readonly headers?: Readonly<Record<string, string>>
  /** Other statuses than 2xx that are answers, too. */
  readonly expects?: readonly number[]
  readonly signal?: AbortSignal
  /** Called as the body is sent; the answer comes after all of it. */
  sent?(bytes: number, allBytes: number): void
}

/** A call that reports how much of its body is sent. */
export interface Upload {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Blob | string | null
  readonly signal: AbortSignal | undefined
  /** Called as the body is sent; the last time with all of it, when the answer is still to come. */
  sent(bytes: number, allBytes: number): void
}

/** An answer that refuses the call. */
export class Refusal extends Error {
  readonly status: number
  /** The last part of the problem's type, such as `stale_record`; empty if the body is not a problem. */
  readonly code: string
  readonly faults: readonly Fault[]
  /** Undefined without `Retry-After`. */
  readonly retryAfterSeconds: number | undefined
  readonly body: string

  constructor({ status, headers, text }: ApiResponse) {
    const problem = problemIn(headers, text)
    // The page of a proxy explains nothing.
    super(problem?.detail ?? `The server, or a proxy before it, refused with ${status}`)
    this.status = status
    this.code = problem?.type.split(':').at(-1) ?? ''
    this.faults = problem?.errors ?? []
    this.retryAfterSeconds = Number(headers.get('Retry-After')) || undefined
    this.body = text
  }
}

/** No answer came. */
export class Unreachable extends Error {}

export interface ApiEvents {
  /** Resolves once somebody has logged in again; rejects if the call shall not be repeated. */
  logIn(): Promise<void>
  /** The login that somebody is asked for; undefined while there is none. */
  login(): Promise<void> | undefined
  /** After each call: whether an answer came. */
  reached(isReached: boolean): void
}

/** Calls the server from which the page came. */
export class Api {
  /** Ends in a slash. */
  readonly base: URL
  readonly #events: ApiEvents
  readonly #upload: (url: string, upload: Upload) => Promise<ApiResponse>

  constructor(base: URL, events: ApiEvents, upload: (url: string, upload: Upload) => Promise<ApiResponse>) {
    this.base = base
    this.#events = events
    this.#upload = upload
  }

  /** @param path Without a slash at the beginning, with its query. */
  url(path: string): string {
    return new URL(path, this.base).href
  }

  /**
   * Makes a call, and makes it again after a new login if the session has ended.
   *
   * @throws {Refusal} for other statuses than 2xx and those in `expects`.
   * @throws {Unreachable} if no answer comes.
   * @throws {DOMException} `AbortError` if `signal` is aborted.
   */
  async call(path: string, request: ApiRequest = {}): Promise<ApiResponse> {
    const answer = await this.once(path, request)
    const refusal = isGood(answer, request) ? undefined : new Refusal(answer)
    if (refusal !== undefined && isSessionEnded(refusal)) {
      await this.#events.logIn()
      return this.call(path, request)
    }
    // An answer for somebody whose session has ended since shows nothing until that person is back.
    const login = this.#events.login()
    if (login !== undefined) {
      await login
      request.signal?.throwIfAborted()
    }
    if (refusal !== undefined) throw refusal
    return answer
  }

  /** Makes the call once; whatever the answer, it leads to no login and is not thrown. */
  async once(
    path: string,
    { method = 'GET', json, body, headers = {}, signal, sent }: ApiRequest = {},
  ): Promise<ApiResponse> {
    const type: Record<string, string> = json === undefined ? {} : { 'Content-Type': 'application/json' }
    const request = {
      method,
      headers: { ...type, ...headers },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
    }
    try {
      const answer =
        sent === undefined
          ? await fetchResponse(this.url(path), { ...request, signal: signal ?? null })
          : await this.#upload(this.url(path), { ...request, signal, sent })
      this.#events.reached(true)
      return answer
    } catch (error) {
      if (signal?.aborted) throw error
      this.#events.reached(false)
      throw new Unreachable('Cannot reach the server', { cause: error })
    }
  }
}

async function fetchResponse(url: string, init: RequestInit): Promise<ApiResponse> {
  // Conditional requests are made by the page, which keeps what it has shown.
  const response = await fetch(url, { ...init, cache: 'no-store' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The tag as the server made it: a proxy that compresses makes it weak, or longer. Empty if there is none. */
export function tagIn({ headers }: ApiResponse): string {
  return (headers.get('ETag') ?? '').replace(/^W\/|-(gzip|zstd)(?="$)/g, '')
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** What to say about a call that failed: what, why, and what to do next. */
export function explain(error: unknown): string {
  if (error instanceof Unreachable)
    return 'Cannot reach the server. Nothing that you typed is lost; try again when it is back.'
  if (!(error instanceof Refusal)) return error instanceof Error ? error.message : String(error)
  const { message, retryAfterSeconds } = error
  return retryAfterSeconds === undefined ? `${message}.` : `${message}. Try again in ${retryAfterSeconds} s.`
}

/** When to repeat a call that failed, in seconds; undefined if that is for a person to say. */
export function retryAfterOf(error: unknown): number | undefined {
  const { code = '', retryAfterSeconds = undefined } = error instanceof Refusal ? error : {}
  // A proxy does not say when its server is back.
  return retryAfterSeconds ?? (code === '' ? RETRY_SECONDS : undefined)
}

function isGood({ status }: ApiResponse, { expects = [] }: ApiRequest): boolean {
  return (status >= 200 && status < 300) || expects.includes(status)
}

function isSessionEnded({ status, code }: Refusal): boolean {
  return status === 403 && (code === 'not_authenticated' || code === 'invalid_token')
}

interface ProblemBody {
  readonly type: string
  readonly detail: string
  readonly errors?: readonly Fault[]
}

function problemIn(headers: ApiResponse['headers'], text: string): ProblemBody | undefined {
  if (headers.get('Content-Type') !== 'application/problem+json') return undefined
  try {
    return JSON.parse(text) as ProblemBody
  } catch {
    return undefined
  }
}
