import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { createClock, openClockFloor } from '../../src/auth/clock.ts'
import { keysDocument } from '../../src/auth/keys.ts'
import { checkRevocations } from '../../src/auth/revocations-file.ts'
import { accessCluster, type ClusterAccess } from '../../src/cluster/cluster-access.ts'
import { clusterDocuments } from '../../src/cluster/cluster-documents.ts'
import { createMeta, encodeMeta } from '../../src/cluster/cluster-meta.ts'
import { put } from '../../src/cluster/messages.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { readStore } from '../../src/storage/file/file-storage.ts'
import { createMemoryLog } from './memory-log.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/** Puts in one transaction. */
const PUTS_MAX = 100

/**
 * Flags of a node that has a folder: the same prefix for the same folder. What the folder holds, because a test has
 * prepared it, is moved to the cluster.
 *
 * @param urls Members of etcd, with commas between them.
 */
export async function clusterPlace(t: Lifetime, urls: string, folder: string): Promise<string[]> {
  const keyFile = join(await temporaryFolder(t), 'key')
  await writeFile(keyFile, 'ab'.repeat(32), { mode: 0o600 })
  const prefix = `/test/${hash('sha256', folder).slice(0, 12)}/`
  const access = accessCluster({
    etcd: urls.split(','),
    etcdPrefix: prefix,
    etcdCa: undefined,
    etcdCert: undefined,
    etcdKey: undefined,
    etcdUser: undefined,
    etcdPasswordFile: undefined,
    etcdKeyFile: keyFile,
    etcdPlain: false,
  })
  if (access !== undefined && existsSync(join(folder, dataFiles.accounts))) await move(folder, access)
  access?.gateway.close()
  return ['--etcd', urls, '--etcd-prefix', prefix, '--etcd-key-file', keyFile]
}

async function move(path: string, access: ClusterAccess) {
  const { gateway, keys } = access
  const folder = dataPaths(path)
  const { index } = await readStore(folder, false)
  const accounts = await accountsDocument(folder).read()
  const signingKeys = await keysDocument(folder).read()
  const revoked = await checkRevocations(folder, false, 'r')
  const documents = clusterDocuments(access)
  const puts = [
    ...Array.from(index.freeze(), (record) => put(keys.record(record.name), record.json)),
    ...Array.from(revoked?.ended ?? [], ([jti, exp]) => put(keys.revokedToken(jti), JSON.stringify({ exp }))),
    put(keys.sequence, String(index.lastId)),
    ...(accounts === undefined ? [] : [put(keys.accounts, documents.accounts.encode(accounts))]),
    put(keys.signingKeys, documents.keys.encode(signingKeys ?? [])),
    put(keys.meta, encodeMeta(createMeta())),
  ]
  for (let i = 0; i < puts.length; i += PUTS_MAX)
    await gateway.transact({ compare: [], success: puts.slice(i, i + PUTS_MAX), failure: [] })
  const passed = revoked?.passed ?? 0
  const floor = await openClockFloor(folder, { log: createMemoryLog(), makeClock: () => createClock(passed) })
  await floor.close()
  const aside = join(path, 'moved')
  await mkdir(aside, { recursive: true })
  for (const entry of await readdir(path))
    if (/\.jsonl?$/.test(entry) && entry !== dataFiles.clock)
      await rename(join(path, entry), join(aside, entry))
}
