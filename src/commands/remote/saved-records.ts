import { type FileHandle, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import { openList } from '../../client/record-stream.ts'
import type { ServedRecord } from '../../client/served-record.ts'
import { ConnbookError, systemCode, UsageError } from '../../errors.ts'
import { listEnvelope } from '../../exchange/json-format.ts'
import { dataPaths } from '../../files/data-folder.ts'
import { realFileSystem } from '../../files/file-system.ts'
import { hasData } from '../../state/used-folder.ts'
import { inTurn } from '../../system-account.ts'
import type { WherePairs } from './where.ts'

/** The records could not be saved; nothing has changed at the server. */
export class NotSavedError extends ConnbookError {
  readonly code = 'not_saved'
}

/** Records as they were, in a file for `connbook import`. */
export interface SavedRecords {
  /** The tag of their list; undefined if the server gives none. */
  readonly tag: string | undefined
  remove(): Promise<void>
}

/**
 * Saves what a query keeps to a new file, durably.
 *
 * @throws {UsageError} if the file is there, or would be in a data folder. {NotSavedError} if it cannot be written; then it
 *   is removed. Also what `openList` throws.
 */
export async function saveRecords(client: Client, where: WherePairs, path: string): Promise<SavedRecords> {
  // As a file of the state, such as snapshot.json, it would keep the next server from starting.
  if (await hasData(dataPaths(dirname(resolve(path)))))
    throw new UsageError(
      `Cannot save to "${path}": it is in a data folder; name another file; nothing has changed`,
    )
  const file = await inTurn(() => open(path, 'wx', 0o600)).catch((error: unknown) => {
    if (systemCode(error) === 'EEXIST')
      throw new UsageError(
        `Cannot save to "${path}": it is there already; name another file; nothing has changed`,
      )
    throw notSaved(path, error)
  })
  const remove = () => realFileSystem.unlink(path).catch(() => {})
  try {
    const filters = where.filter(([name]) => name !== 'all')
    const { tag, pieces } = await openList(client, listPath({}, filters))
    await writeRecords(file, pieces)
    await file.sync()
    await file.close()
    return { tag, remove }
  } catch (error) {
    await file.close().catch(() => {})
    await remove()
    throw error instanceof ConnbookError ? error : notSaved(path, error)
  }
}

async function writeRecords(file: FileHandle, pieces: AsyncIterable<readonly ServedRecord[]>): Promise<void> {
  await file.writeFile(listEnvelope.start)
  let separator = ''
  for await (const records of pieces) {
    if (records.length === 0) continue
    await file.writeFile(separator + records.map(withLabels).join(',\n'))
    separator = ',\n'
  }
  await file.writeFile(`${listEnvelope.end}\n`)
}

/** An import keeps the labels of a record that says nothing of them. */
function withLabels({ json, record }: ServedRecord): string {
  return record.labels === undefined ? `${json.slice(0, -1)},"labels":{}}` : json
}

function notSaved(path: string, error: unknown): NotSavedError {
  return new NotSavedError(
    `Cannot save the records to "${path}" (${systemCode(error) ?? error}); nothing has changed`,
    { cause: error },
  )
}
