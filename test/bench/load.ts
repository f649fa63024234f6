export const CONNECTIONS = 32
/** In a body, these become as many digits that no other request has. */
export const UNIQUE_DIGITS = '############'

/** One kind of request, sent again and again. */
export interface Load {
  readonly method?: string
  /** Asked for in turn. */
  readonly paths: readonly [string, ...string[]]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** What every answer must have; 200 when not given. */
  readonly status?: number
  /** CONNECTIONS when not given. */
  readonly connections?: number
}

/** What a load generator reports. */
export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly generatorSeconds: number
}
