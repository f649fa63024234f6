import { resolve } from 'node:path'
import {
  changeKeys,
  describeMoment,
  hasEnded,
  NO_KEY,
  NoKeyError,
  replaceKeys,
  rotateKeys,
  secondsOf,
} from '../auth/key-rotation.ts'
import { readKeys, type StoredKey } from '../auth/keys.ts'
import { openRevocationsFile, readRevocations, revocationsMissing } from '../auth/revocations-file.ts'
import { systemCode, UsageError } from '../errors.ts'
import { type DataPaths, dataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { alignColumns } from './columns.ts'
import { parseVerb } from './command.ts'
import { recordCommand } from './command-audit.ts'
import { type Look, plainLook } from './look.ts'
import { parseCommandLine } from './options.ts'
import { OutputError, type Print } from './output.ts'
import { checkUsedFolder } from './used-folder.ts'

const verbs = ['rotate', 'revoke-all', 'list'] as const

/**
 * Runs `keys …`, whether or not a server runs on the folder.
 *
 * @throws {UsageError} {FolderRefusedError} {DamagedFileError} {NoKeyError} {TooManyKeysError}; then nothing has changed.
 * @throws {OutputError} if `print` failed; then everything is done.
 */
export async function runKeysCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  print: Print,
  look: Look = plainLook,
): Promise<void> {
  const { options, words } = parseCommandLine(args, environment, ['data'])
  const [word, ...rest] = words
  const verb = parseVerb('keys', verbs, word)
  if (rest.length > 0) throw new UsageError(`Write it as: connbook keys ${verb}`)
  const path = resolve(options.data)
  await checkUsedFolder(path)
  const folder = dataPaths(path)
  const lines = await { rotate, 'revoke-all': revokeAll, list }[verb](folder, look)
  try {
    for (const line of lines) await print(`${line}\n`)
  } catch (error) {
    const what = verb === 'list' ? 'the keys' : 'what was done'
    throw new OutputError(`Cannot show ${what} (${systemCode(error)})`, { cause: error })
  }
}

async function rotate(folder: DataPaths): Promise<string[]> {
  const { before, after } = await changeKeys(folder, async (keys) => {
    if (keys.length === 0) throw noKey(folder, 'rotate')
    return rotateKeys(keys, await latestMoment(folder))
  })
  const [signing] = after
  await recordCommand(folder.path, 'keys_rotated', 'keys rotate', { key: signing?.id })
  const superseded = after.find(({ id }) => id === before[0]?.id)
  return [
    `Rotated the keys in ${folder.path}`,
    `Key ${signing?.id} signs from now on`,
    `Key ${superseded?.id} verifies until ${describeMoment(superseded?.until ?? 0)}, when all that it signed has expired`,
  ]
}

async function revokeAll(folder: DataPaths): Promise<string[]> {
  const { after } = await changeKeys(folder, async (keys) => {
    // Where there is neither, the next start makes both; a key alone would be one that has lost its revocations.
    if (keys.length === 0 && !(await hasRevocations(folder))) throw noKey(folder, 'replace')
    return replaceKeys(keys, secondsOf(Date.now()))
  })
  await recordCommand(folder.path, 'keys_revoked', 'keys revoke-all', { key: after[0]?.id })
  return [
    `Replaced the keys in ${folder.path}`,
    `Key ${after[0]?.id} is the only one from now on`,
    'Every session and token ends: a running server takes this up within a second',
  ]
}

async function list(folder: DataPaths, look: Look): Promise<string[]> {
  const keys = await readKeys(folder, true)
  const now = secondsOf(Date.now())
  if (keys.length === 0) return [NO_KEY]
  const state = (key: StoredKey, i: number) => (i === 0 ? 'signs' : describeEnd(key, now))
  if (look.isTerminal) {
    const since = ({ created }: StoredKey) => (created === undefined ? 'unknown' : describeMoment(created))
    const rows = keys.map((key, i) => [key.id, since(key), state(key, i)])
    return alignColumns(['KEY', 'SINCE', 'STATE'], rows, look)
  }
  return keys.map((key, i) => {
    const since =
      key.created === undefined ? 'made by an earlier version' : `since ${describeMoment(key.created)}`
    return `${key.id}  ${since}  ${state(key, i)}`
  })
}

function describeEnd(key: StoredKey, now: number): string {
  if (key.until === undefined) return 'verifies'
  return `${hasEnded(key, now) ? 'ended' : 'verifies until'} ${describeMoment(key.until)}`
}

/** In seconds since 1970: what the machine says, unless a server has already remembered a later moment. */
async function latestMoment(folder: DataPaths): Promise<number> {
  const file = await openRevocationsFile(folder, realFileSystem, 'r')
  if (file === undefined) throw revocationsMissing(folder)
  try {
    const { passed } = await readRevocations(file, folder)
    return secondsOf(Math.max(Date.now(), passed))
  } finally {
    await file.close()
  }
}

async function hasRevocations(folder: DataPaths): Promise<boolean> {
  const file = await openRevocationsFile(folder, realFileSystem, 'r')
  await file?.close()
  return file !== undefined
}

function noKey(folder: DataPaths, what: string): NoKeyError {
  return new NoKeyError(
    `Cannot ${what} the keys of "${folder.path}": there is none; the next start of connbook makes one, and every session and token ends`,
  )
}
