import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { firstStartEnvironment, start, type TestService } from '../../support/service.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'

/** What the nodes of one cluster have in common. */
export interface NodePlace {
  /** URLs of etcd for clients: of members, or of proxies before them. */
  readonly etcd: readonly string[]
  readonly prefix: string
  readonly keyFile: string
}

/** A place for nodes with a prefix of its own, so that tests may share one etcd, and a new key file. */
export async function nodePlace(
  t: Lifetime,
  etcd: readonly string[],
  prefix = `/test-${randomBytes(6).toString('hex')}/`,
): Promise<NodePlace> {
  const keyFile = join(await temporaryFolder(t), 'key')
  await writeFile(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  return { etcd, prefix, keyFile }
}

/** The flags that put a node there. */
export function placeFlags({ etcd, prefix, keyFile }: NodePlace): string[] {
  return [...etcd.flatMap((url) => ['--etcd', url]), '--etcd-prefix', prefix, '--etcd-key-file', keyFile]
}

/**
 * Starts a node in this process; it stops with the test or the suite. If it is the first one of its place, it makes `admin`
 * and `client`.
 *
 * @param folder What the node keeps of its own; a new one when not given.
 */
export async function startNode(
  t: Lifetime,
  place: NodePlace,
  { folder, flags = [] }: { folder?: string; flags?: readonly string[] } = {},
): Promise<TestService> {
  return start(t, {
    folder: folder ?? (await temporaryFolder(t)),
    flags: [...placeFlags(place), ...flags],
    environment: firstStartEnvironment,
  })
}
