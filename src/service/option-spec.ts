/** One line of the table from which flags, environment, defaults and help are made. */
export interface OptionSpec {
  readonly flag: string
  /** Placeholder of the value in the help; undefined for a switch. */
  readonly placeholder?: string
  readonly help: string
  /** The default, as typed; undefined when there is none. */
  readonly default?: string
  /** What happens when there is no default and nothing is given. */
  readonly otherwise?: string
  /** The allowed values, where they are few. */
  readonly choices?: readonly string[]
  /** Whether the flag may be repeated; its values are joined by commas. */
  readonly isRepeatable?: boolean
  /** Whether the flag may be repeated, and each value stands for itself. */
  readonly isList?: true
  /** Only for commands that name it, not for the server; its only variable is then `lastVariable`. */
  readonly isOfCommand?: boolean
  /** Another environment variable, read last. */
  readonly lastVariable?: string
  /** Throws a RangeError that ends the sentence "…, because it must be". */
  parse(text: string): unknown
}

/**
 * The options of a table, parsed: undefined where one takes a value, has no default and is not given; a list where it
 * may be given several times.
 */
export type ParsedOptions<Table extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Table]: Table[Name] extends { isList: true }
    ? readonly ReturnType<Table[Name]['parse']>[]
    : ReturnType<Table[Name]['parse']> | AbsentIn<Table[Name]>
}

type AbsentIn<Spec> = Spec extends { placeholder: string; default?: never } ? undefined : never
