// What the benchmark uses of the packages that only it has: the types are checked without them.

declare module 'autocannon' {
  namespace autocannon {
    interface Request {
      readonly method: string
      readonly path: string
      readonly headers: Readonly<Record<string, string>>
      readonly body?: string | undefined
      /** Called before each request is sent. */
      readonly setupRequest?: (request: Request) => Request
    }

    interface Options {
      readonly url: string
      /** Sent in turn. */
      readonly requests: readonly Request[]
      readonly connections: number
      /** Seconds. */
      readonly duration: number
      /** Milliseconds between two looks at whether the run is over. */
      readonly sampleInt: number
      readonly setupClient: (client: NodeJS.EventEmitter) => void
    }

    interface Result {
      /** Seconds. */
      readonly duration: number
      readonly errors: number
      readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
      /** Milliseconds. */
      readonly latency: { readonly p50: number; readonly p99: number }
    }
  }

  function autocannon(options: autocannon.Options): Promise<autocannon.Result>
  export = autocannon
}

declare module 'vega' {
  function parse(spec: object): object

  class View {
    constructor(runtime: object, options: { readonly renderer: 'none' })
    toSVG(): Promise<string>
    finalize(): void
  }

  export { parse, View }
}

declare module 'vega-lite' {
  /** Makes a specification of Vega from one of Vega-Lite. */
  export function compile(spec: object): { readonly spec: object }
}
