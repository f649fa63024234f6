import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'
import { ClusterRefusedError, missingKey, nothingThere, refusedKey } from './cluster-error.ts'
import { CLUSTER_FORM, encodeMeta, parseMeta } from './cluster-meta.ts'
import { modIs, put } from './messages.ts'
import { transactUntilSettled } from './settled-transaction.ts'

/** Others change the accounts seldom: more tries in vain mean something else. */
const TRIES_MAX = 10

/**
 * Raises a cluster to the newest form. From then on a node of an older connbook refuses it.
 *
 * @returns Whether it had an older form.
 * @throws {EtcdError} {ClusterRefusedError} {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError} It may be
 *   repeated.
 */
export async function upgradeCluster(access: ClusterAccess): Promise<boolean> {
  const { gateway, keys, place } = access
  const { accounts } = clusterDocuments(access)
  const find = async (key: string) => (await gateway.range({ key })).kvs[0]
  let isRaised = false
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const meta = await find(keys.meta)
    if (meta === undefined) throw nothingThere(keys, gateway)
    const found = parse(meta)
    // Also if only the answer to the transaction was lost.
    if (found.form === CLUSTER_FORM) return isRaised
    const kv = await find(keys.accounts)
    if (kv === undefined) throw missingKey(keys.accounts, gateway)
    const transaction = {
      compare: [modIs(keys.meta, meta.modRevision), modIs(keys.accounts, kv.modRevision)],
      success: [
        put(keys.meta, encodeMeta({ ...found, form: CLUSTER_FORM })),
        put(keys.accounts, accounts.encode(accounts.decode(kv))),
      ],
      failure: [],
    }
    isRaised = true
    const { answer } = await transactUntilSettled(gateway, transaction, 'the form of the cluster')
    if (answer.succeeded) return true
  }
  throw new ClusterRefusedError(
    `Cannot upgrade ${place}: others change its accounts all the time; nothing has changed; try again later`,
  )

  function parse({ key, value }: { readonly key: string; readonly value: string }) {
    try {
      return parseMeta(value)
    } catch (error) {
      throw refusedKey(key, gateway, error)
    }
  }
}
