import { readListedChanges } from '../audit/listed-changes.ts'
import { accountsDocument, accountsMissing } from '../auth/accounts-file.ts'
import { describeMoment, hasEnded, NO_KEY, secondsOf } from '../auth/key-rotation.ts'
import { readKeys, type StoredKey } from '../auth/keys.ts'
import { checkRevocations } from '../auth/revocations-file.ts'
import { auditFiles, type DataPaths, dataFiles, OWNER_SOCKET } from '../files/data-folder.ts'
import { examineStore, type RecordsExamination } from '../storage/file/file-storage.ts'
import { describeTail, examine, type Finding } from '../storage/finding.ts'
import { counted } from '../text.ts'
import { mustHaveJournal } from './used-folder.ts'

/** Named with what they hold; nothing of it is checked. */
const shown: readonly string[] = [dataFiles.initialCredentials, dataFiles.history]
/** Without those that are examined, or hold nothing. */
const names: readonly string[] = [...Object.values(dataFiles), OWNER_SOCKET]

const firstStartPending: Finding = {
  name: dataFiles.accounts,
  words: 'not yet there: a first start did not come to its end, and the next one begins anew',
  isDamage: false,
}

/** Reads every file of a data folder and changes nothing; a server may be running on it. */
export async function examineFolder(folder: DataPaths): Promise<RecordsExamination> {
  const entries = await folder.files.readdir(folder.path)
  const isInUse = entries.includes(dataFiles.accounts)

  // Before the journal, which a server may be writing: it is never behind the trail.
  const listed = await readListedChanges(folder)
  const { findings: recordFindings, stored } = await examineStore(folder, mustHaveJournal(entries), listed)
  const hasRecords = stored === undefined || stored.index.revision > 0
  const secretFindings = isInUse || hasRecords ? await examineSecrets(folder) : [firstStartPending]
  const others = entries
    .filter((entry) => shown.includes(entry) || !names.includes(entry))
    .map((name) => ({ name, words: describeOther(name), isDamage: false }))
  return { findings: [...secretFindings, ...recordFindings, ...others], stored }
}

async function examineSecrets(folder: DataPaths): Promise<Finding[]> {
  let mayLackRevocations = false
  const accounts = await examine(dataFiles.accounts, async () => {
    const found = await accountsDocument(folder).read()
    if (found === undefined) throw accountsMissing(folder)
    return `${counted(found.users.length, 'user')}, ${counted(found.clients.length, 'client')}`
  })
  const keys = await examine(dataFiles.keys, async () => {
    const found = await readKeys(folder, true)
    mayLackRevocations = found.length === 0
    return describeKeys(found, secondsOf(Date.now()))
  })
  const revocations = await examine(dataFiles.revocations, async () => {
    const found = await checkRevocations(folder, !mayLackRevocations, 'r')
    if (found === undefined) return 'not there: the next start makes it'
    return `${counted(found.ended.size, 'ended credential')}${describeTail(found.end)}`
  })
  return [...accounts, ...keys, ...revocations]
}

/** @param now In seconds since 1970. */
function describeKeys([signing, ...superseded]: readonly StoredKey[], now: number): string {
  if (signing === undefined) return NO_KEY
  const older = superseded.filter((key) => !hasEnded(key, now))
  if (older.length === 0) return '1 signing key'
  const ends = older.flatMap(({ until }) => until ?? [])
  const until = ends.length === 0 ? '' : ` until ${describeMoment(Math.max(...ends))} at the latest`
  return `1 signing key; ${counted(older.length, 'superseded key')} to verify${until}`
}

function describeOther(name: string): string {
  if (auditFiles.some((file) => file === name)) return 'who did what'
  if (name === dataFiles.initialCredentials)
    return 'secrets of the first start, in the clear; each goes when it is changed'
  if (name === dataFiles.history) return 'the history that a restored backup had'
  if (/\.torn-\d+-[0-9a-f]+$/.test(name)) return 'a half-written end that a crash left, cut off and kept'
  if (name.startsWith('before-restore-')) return 'what was there before a restore'
  if (/^\..+\.tmp$/.test(name))
    return 'being written, or left by a crash; then the next to write the file removes it'
  return 'not of connbook, which leaves it alone'
}
