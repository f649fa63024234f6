import { ConnbookError } from '../errors.ts'
import type { Configuration } from './configuration.ts'

export class NameTakenError extends ConnbookError {
  readonly code = 'name_taken'
  /** The record that has the name; undefined if the asker does not see it. */
  readonly holder: Configuration | undefined

  constructor(name: string, holder: Configuration | undefined) {
    super(
      `Cannot take the name "${name}": ${holder ? `the record with id ${holder.id}` : 'another record'} has it`,
    )
    this.holder = holder
  }
}

export class UnknownNameError extends ConnbookError {
  readonly code = 'unknown_name'

  constructor(name: string) {
    super(`There is no configuration named "${name}"`)
  }
}

/** The records are not what the caller of an import, or of another change of many, expects. */
export class StaleListError extends ConnbookError {
  readonly code = 'stale_record'

  constructor() {
    super('The records have changed since they were read; nothing has changed; read them again')
  }
}

/** The record is not what the caller expects. */
export class StaleRecordError extends ConnbookError {
  readonly code = 'stale_record'

  constructor(
    name: string,
    message = `The configuration "${name}" has changed since it was read; read it again`,
  ) {
    super(message)
  }
}
