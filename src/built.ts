/** What the build puts beside the code of the program. */
export interface BuiltParts {
  /**
   * The absolute path of connbook.cjs, if a Node of the host runs that; undefined in the executable, which has a Node of its
   * own.
   */
  readonly file?: string
  /** Reads the text of a part by its name. */
  text(name: string): string
  /** Reads the bytes of a part by its name. */
  bytes(name: string): Uint8Array
}

/** A parameter of the function that .build/start.cjs or .build/any-node.cjs makes of the program. */
declare const builtParts: BuiltParts | undefined

/** Undefined in a run from source. */
export const parts = typeof builtParts === 'undefined' ? undefined : builtParts

/** The options of Node with which the program runs on Linux and macOS. */
export const nodeOptions: readonly string[] = [
  // In MiB. Larger ones are no faster, and take more memory: 12 MiB more with 1,000 event streams, 80 more after a start
  // with 1,000,000 records.
  '--max-semi-space-size=8',
  // HEAP_SHARE of budget.ts. Otherwise it would be 238 MiB and more on any host, and garbage could end a small one.
  '--max-old-space-size-percentage=50',
  // Node would open a debugger on this signal.
  '--disable-sigusr1',
  // Otherwise the file that OPENSSL_CONF names could make the program load other code.
  '--openssl-config=/dev/null',
]
