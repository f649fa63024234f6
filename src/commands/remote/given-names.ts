import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import { openList } from '../../client/record-stream.ts'
import { RefusedError } from '../../client/refused.ts'
import type { CommandContext } from '../../command-line/command.ts'
import { findNear } from '../../command-line/nearest.ts'
import { ConnbookError, UsageError } from '../../errors.ts'
import { readInputBytes } from '../../files/input.ts'
import { quoted } from './changes.ts'

/** A list of names on standard input is not longer. */
const NAMES_BYTES_MAX = 64 * 1024 * 1024
/** Missing records for which near names are looked for. */
const ADVISED_MAX = 10
const NEAR_NAMES_SHOWN = 3
/** All names of a longer list are too many to read for a message. */
const ALL_NAMES_MAX = 10_000
/** Names with the same beginning that are read of a longer list. */
const SOME_NAMES_MAX = 100

/** What commands that take names say of them. */
export const NAMES_NOTE =
  'Several names are done one after the other, each whole. "-" stands for a list of names on standard input, one a line. A name that is not there is reported, and the others are done all the same.'

/** One record has no such value; others of the same command may have it. */
export class NoValueError extends ConnbookError {
  readonly code = 'no_value'
}

/** Whether operands name more than one record, or may do. */
export function areSeveral(operands: readonly string[]): boolean {
  return operands.length > 1 || operands.includes('-')
}

/**
 * The names that operands give, where `-` stands for those on standard input. Says so if that makes none at all.
 *
 * @throws {UsageError} for an empty name, a second `-`, and input that is too long or not UTF-8.
 */
export async function readNames(
  operands: readonly string[],
  context: Pick<CommandContext, 'input' | 'screen'>,
): Promise<string[]> {
  if (operands.includes('')) throw new UsageError('The name of a record cannot be empty; nothing has changed')
  const at = operands.indexOf('-')
  if (at === -1) return [...operands]
  if (operands.includes('-', at + 1)) throw new UsageError('Give "-" once; nothing has changed')
  const names = operands.toSpliced(at, 1, ...(await readInputNames(context)))
  if (names.length === 0) context.screen.write('Standard input has no names; nothing was done\n')
  return names
}

/** A name a line; blank lines, and a CR at the end of a line, are left out. */
async function readInputNames(context: Pick<CommandContext, 'input'>): Promise<string[]> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of readInputBytes({ source: '-', what: 'standard input', context })) {
    bytes += piece.length
    if (bytes > NAMES_BYTES_MAX)
      throw new UsageError(`Standard input is longer than ${NAMES_BYTES_MAX} bytes; nothing has changed`)
    pieces.push(piece)
  }
  const lines = textOf(Buffer.concat(pieces)).split('\n')
  return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line.trim() !== '')
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new UsageError('Standard input is not UTF-8; nothing has changed', { cause })
  }
}

/**
 * Does something with each of some records. Those that are missing, or have no such value, are named in the end, and the
 * others are done all the same.
 *
 * @param act May throw what a call for the record does.
 * @throws {RefusedError} in the end if some were missing, otherwise {NoValueError}. Any other error of `act` at once; of
 *   several names, it says at which one.
 */
export async function forEachName(
  client: Client,
  names: readonly string[],
  act: (name: string) => Promise<unknown>,
): Promise<void> {
  const failures: ConnbookError[] = []
  for (const name of names) {
    try {
      await act(name)
    } catch (error) {
      if (isUnknownName(error))
        failures.push(failures.length < ADVISED_MAX ? await advised(client, name, error) : error)
      else if (error instanceof NoValueError) failures.push(error)
      else {
        if (error instanceof ConnbookError) {
          const stop = names.length > 1 ? `Stopped at ${quoted(name)}: ${error.message}` : error.message
          error.message = [...failures.map(({ message }) => message), stop].join('\n')
        }
        throw error
      }
    }
  }
  const [first] = failures
  if (first === undefined) return
  const message = failures.map(({ message }) => message).join('\n')
  const missing = failures.find((failure) => failure instanceof RefusedError)
  throw missing === undefined ? new NoValueError(message) : new RefusedError(message, missing)
}

/** Makes a call for one record; an error that it is missing names those that may have been meant. */
export async function withNearNames<Result>(
  client: Client,
  name: string,
  call: Promise<Result>,
): Promise<Result> {
  return call.catch(async (error: unknown) => {
    throw isUnknownName(error) ? await advised(client, name, error) : error
  })
}

function isUnknownName(error: unknown): error is RefusedError {
  return error instanceof RefusedError && error.problem === 'unknown_name'
}

async function advised(client: Client, name: string, error: RefusedError): Promise<RefusedError> {
  const near = findNear(name, await readNamesLike(client, name), NEAR_NAMES_SHOWN)
  if (near.length === 0) return error
  return new RefusedError(`${error.message}; did you mean ${near.map(quoted).join(', ')}?`, error)
}

/**
 * Names that may have been meant by one that is not there: all of a server or, of very many, some that begin like it. None if
 * the server does not say.
 */
async function readNamesLike(client: Client, name: string): Promise<readonly string[]> {
  try {
    const page = await client.ask({ method: 'GET', path: listPath({ page: 0, per_page: 1 }) })
    const count = Number(page.headers['x-total-count'] ?? Number.POSITIVE_INFINITY)
    const prefix = name.slice(0, Math.ceil(name.length / 2))
    const path = listPath(count <= ALL_NAMES_MAX ? {} : { prefix, page: 0, per_page: SOME_NAMES_MAX })
    const names: string[] = []
    const { pieces } = await openList(client, path)
    for await (const piece of pieces) names.push(...piece.map(({ record }) => record.name))
    return names
  } catch (error) {
    // What was asked for first has failed, and that is what is said.
    if (error instanceof ConnbookError) return []
    throw error
  }
}
