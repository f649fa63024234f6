import type { CredentialStorage } from '../auth/credential-storage.ts'
import {
  describeMoment,
  hasEnded,
  NO_KEY,
  NoKeyError,
  replaceKeys,
  rotateKeys,
  secondsOf,
} from '../auth/key-rotation.ts'
import type { StoredKey } from '../auth/keys.ts'
import { alignColumns } from '../command-line/columns.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  DAMAGED,
  defineCommand,
  IN_USE,
} from '../command-line/command.ts'
import { type PlaceFlag, placeFlags } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import type { TerminalStyle } from '../command-line/terminal-style.ts'
import { recordCommand } from '../state/command-audit.ts'
import { checkChosenFolder } from './chosen-folder.ts'
import { CHANGES_CLUSTER, clusterExitCodes } from './used-cluster.ts'
import { getReadCredentials, getUsedCredentials, type UsedCredentials } from './used-credentials.ts'

/**
 * They work whether or not a server runs on the folder.
 *
 * They throw {FolderRefusedError} {DamagedFileError} {NoKeyError} {TooManyKeysError}; then nothing has changed.
 */
export const keysCommands: readonly Command[] = [
  defineCommand({
    name: 'keys rotate',
    summary: 'sign with a new key; sessions and tokens stay valid',
    examples: [['connbook keys rotate', 'accepts the old key until its last token ends']],
    notes: [CHANGES_CLUSTER],
    flags: placeFlags,
    exitCodes: { ...clusterExitCodes, 65: DAMAGED, 75: IN_USE },
    run: (input, context) => change('rotate', rotate, input, context),
  }),
  defineCommand({
    name: 'keys revoke-all',
    summary: 'end every session and token at once',
    examples: [['connbook keys revoke-all', 'after a leak']],
    notes: [CHANGES_CLUSTER],
    flags: placeFlags,
    exitCodes: { ...clusterExitCodes, 65: DAMAGED, 75: IN_USE },
    run: (input, context) => change('revoke-all', revokeAll, input, context),
  }),
  defineCommand({
    name: 'keys list',
    summary: 'list the keys, and until when each is accepted',
    examples: [['connbook keys list', 'never shows their secrets']],
    flags: placeFlags,
    exitCodes: { ...clusterExitCodes, 65: DAMAGED, 75: IN_USE },
    async run(input, context) {
      await checkChosenFolder(input, context, false)
      using credentials = await getReadCredentials(input)
      const { print, style } = context
      const lines = await list(credentials, style)
      await shown(print(asText(lines)), 'show the keys')
    },
  }),
]

/** @param verb The second word of the command. */
async function change(
  verb: string,
  edit: (credentials: UsedCredentials, context: CommandContext) => Promise<string[]>,
  input: CommandInput<PlaceFlag>,
  context: CommandContext,
): Promise<void> {
  await checkChosenFolder(input, context, false)
  using credentials = await getUsedCredentials(input)
  const lines = await edit(credentials, context)
  await shown(context.print(asText(lines)), 'show what was done')
  await credentials.settle(`keys ${verb}`, context)
}

function asText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

async function rotate(credentials: UsedCredentials, context: CommandContext): Promise<string[]> {
  const { place, folder } = credentials
  const { before, after } = await credentials.keys.edit(async (keys) => {
    if (keys.length === 0) throw noKey(place, 'rotate')
    // If the clock went back, the latest moment that a server has stored.
    return rotateKeys(keys, secondsOf(Math.max(Date.now(), await credentials.latestMoment())))
  })
  const [signing] = after
  await recordCommand(context, folder, 'keys_rotated', 'keys rotate', { key: signing?.id })
  const superseded = after.find(({ id }) => id === before[0]?.id)
  return [
    `Rotated the keys in ${place}`,
    `Key ${signing?.id} signs from now on`,
    `Key ${superseded?.id} verifies until ${describeMoment(superseded?.until ?? 0)}, when all that it signed has expired`,
  ]
}

async function revokeAll(credentials: UsedCredentials, context: CommandContext): Promise<string[]> {
  const { place, folder } = credentials
  const { after } = await credentials.keys.edit(async (keys) => {
    // Without both, the next start makes both; a key made here would look as if its revocations were lost.
    if (keys.length === 0 && !(await credentials.hasRevocations())) throw noKey(place, 'replace')
    return replaceKeys(keys, secondsOf(Date.now()))
  })
  await recordCommand(context, folder, 'keys_revoked', 'keys revoke-all', { key: after[0]?.id })
  return [
    `Replaced the keys in ${place}`,
    `Key ${after[0]?.id} is the only one from now on`,
    'Every session and token has ended',
  ]
}

async function list(credentials: CredentialStorage, style: TerminalStyle): Promise<string[]> {
  const keys = await credentials.keys.read()
  const now = secondsOf(Date.now())
  if (keys.length === 0) return [NO_KEY]
  const state = (key: StoredKey, i: number) => (i === 0 ? 'signs' : describeEnd(key, now))
  if (style.isTerminal) {
    const since = ({ created }: StoredKey) => (created === undefined ? 'unknown' : describeMoment(created))
    const rows = keys.map((key, i) => [key.id, since(key), state(key, i)])
    return alignColumns(['KEY', 'SINCE', 'STATE'], rows, style)
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

function noKey(place: string, what: string): NoKeyError {
  return new NoKeyError(
    `Cannot ${what} the keys of "${place}": there is none; the next start of connbook makes one, and every session and token ends`,
  )
}
