/** One line of the table from which flags, environment, defaults and help are made. */
export interface OptionSpec {
  readonly flag: string
  /** What stands for the value in the help; undefined for a switch. */
  readonly placeholder?: string
  readonly help: string
  /** The default as one would type it; undefined when there is none. */
  readonly default?: string
  /** What happens when there is no default and nothing is given. */
  readonly otherwise?: string
  /** The words that can be its value, when they are few. */
  readonly choices?: readonly string[]
  /** Whether the flag may stand there more than once; its values come with commas between them. */
  readonly isRepeatable?: boolean
  /** Whether it belongs to a command that names it, and not to the server; then it has no variable but a `lastVariable`. */
  readonly isOfCommand?: boolean
  /** Another variable of the environment that is looked at last. */
  readonly lastVariable?: string
  /** Throws a RangeError that ends the sentence "…, because it must be". */
  parse(text: string): unknown
}

/** The options of a table, parsed: undefined where one takes a value, has no default and is not given. */
export type ParsedOptions<Table extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Table]:
    | ReturnType<Table[Name]['parse']>
    | (Table[Name] extends { placeholder: string; default?: never } ? undefined : never)
}
