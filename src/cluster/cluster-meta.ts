import { hash, randomBytes } from 'node:crypto'
import { NewerFormError } from '../errors.ts'
import { checkMembers, isNewerVersion, isObject, isVersion, parseJson } from '../json.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { Gateway } from './gateway.ts'
import { modIs, put } from './messages.ts'

/** What is known of a store in etcd before any record is read. */
export interface ClusterMeta {
  /** Id of the store: random. */
  readonly store: string
  /** Rises when etcd was restored from a snapshot: revisions of before may have been used for other changes. */
  readonly epoch: number
  /** Form of all values: those of form 1 must suit nodes of an older connbook, which read no other form. */
  readonly form: number
}

const FORMAT = 'connbook cluster'
/** The newest form that is known. */
export const CLUSTER_FORM = 2

export function createMeta(): ClusterMeta {
  return { store: randomBytes(16).toString('hex'), epoch: 0, form: CLUSTER_FORM }
}

export function encodeMeta({ store, epoch, form }: ClusterMeta): string {
  return JSON.stringify({ format: FORMAT, version: form, store, epoch })
}

/** @throws {SyntaxError} if the text is not the description of a cluster. @throws {NewerFormError} */
export function parseMeta(text: string): ClusterMeta {
  const input = parseJson(text)
  if (!isObject(input) || input.format !== FORMAT) throw new SyntaxError(`it is no "${FORMAT}"`)
  const { format: _, version: form, store, epoch, ...others } = input
  if (isNewerVersion(form, CLUSTER_FORM)) throw new NewerFormError(`version ${form}`, CLUSTER_FORM)
  checkMembers(others, [], 'the meta key')
  if (!isVersion(form) || typeof store !== 'string' || !isEpoch(epoch))
    throw new SyntaxError(`it is no "${FORMAT}"`)
  return { store, epoch, form }
}

/** The id that tags are made of: another one for each epoch. */
export function storeIdOf({ store, epoch }: Pick<ClusterMeta, 'store' | 'epoch'>): string {
  return epoch === 0 ? store : hash('sha256', `${store} ${epoch}`, 'hex').slice(0, store.length)
}

function isEpoch(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0
}

/**
 * Gives all tags of a store that etcd has from a snapshot another beginning: revisions of before may have been used for
 * other changes. Another node may be faster; either way, everything must be read again.
 *
 * @param least The new epoch is above it.
 * @throws {EtcdError}
 */
export async function raiseEpoch(
  gateway: Gateway,
  keys: ClusterKeys,
  meta: { readonly value: ClusterMeta; readonly modRevision: number },
  least: number,
): Promise<void> {
  const epoch = Math.max(meta.value.epoch, least) + 1
  await gateway.transact({
    compare: [modIs(keys.meta, meta.modRevision)],
    success: [put(keys.meta, encodeMeta({ ...meta.value, epoch }))],
    failure: [],
  })
}
