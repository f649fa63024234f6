declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
    readonly connections: number
    /** Requests in all. */
    readonly amount: number
    /** Puts a new id in the place of every `[<id>]`. */
    readonly idReplacement: boolean
    /** Milliseconds between two looks at whether the run is over. */
    readonly sampleInt: number
    readonly setupClient: (client: NodeJS.EventEmitter) => void
  }

  interface Result {
    readonly '2xx': number
    readonly errors: number
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
  }

  function autocannon(options: Options): Promise<Result>
  export = autocannon
}
