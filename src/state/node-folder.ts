import { randomBytes } from 'node:crypto'
import { FolderRefusedError, ifPresent, ifReachable } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { createJsonDocument, type JsonDocument } from '../files/json-document.ts'
import { checkMembers, isObject } from '../json.ts'

const NODE = /^[0-9a-f]{12}$/
const ADVICE = 'remove it, and the next start makes another one'

/** What a folder knows of its node. */
export interface FolderNode {
  /** Random: two nodes never have the same one. */
  readonly id: string
  /** The id of the store that it was part of last. */
  readonly store?: string
}

/** The node that a folder is for; made at the first call. */
export async function nodeOf(folder: DataPaths): Promise<FolderNode> {
  const document = nodeDocument(folder)
  const known = await document.read()
  if (known !== undefined) return known
  const node = { id: randomBytes(6).toString('hex') }
  await document.write(node)
  return node
}

/** Keeps of which store a node is part now. */
export async function keepStoreOf(folder: DataPaths, { id }: FolderNode, store: string): Promise<void> {
  await nodeDocument(folder).write({ id, store })
}

/** The id of the store that a folder's node was part of last; undefined if it was part of none. Makes nothing. */
export async function findStoreOf(folder: DataPaths): Promise<string | undefined> {
  return (await nodeDocument(folder).read())?.store
}

function nodeDocument({ file, files }: DataPaths): JsonDocument<FolderNode> {
  return createJsonDocument(
    file(dataFiles.node),
    { format: 'connbook node', version: 1, parse: parseNode },
    ADVICE,
    files,
  )
}

/** Whether a folder is that of a node of a cluster: it holds no records. */
export async function isNodeFolder({ files, file }: DataPaths): Promise<boolean> {
  return (await ifReachable(files.lstat(file(dataFiles.node)))) !== undefined
}

/** @throws {FolderRefusedError} if the folder is that of a node of a cluster. */
export async function checkNoNode(folder: DataPaths): Promise<void> {
  if (!(await isNodeFolder(folder))) return
  throw new FolderRefusedError(
    `Cannot use "${folder.path}" without --etcd: it is the folder of a node, whose records are in etcd; add the --etcd flags, or name another folder with --data`,
  )
}

/** @throws {FolderRefusedError} if the folder holds records or accounts of its own, which a cluster would not show. */
export async function checkNoState({ path, files, file }: DataPaths): Promise<void> {
  for (const name of [dataFiles.accounts, dataFiles.journal, dataFiles.snapshot]) {
    if ((await ifPresent(files.lstat(file(name)))) === undefined) continue
    throw new FolderRefusedError(
      `Cannot be a node with "${path}": it holds records of its own (${name}), which nobody would see; name another folder with --data, and bring them in with "connbook backup" and "connbook restore FILE --etcd URL"`,
    )
  }
}

function parseNode(input: unknown): FolderNode {
  // So early builds wrote it.
  if (typeof input === 'string' && NODE.test(input)) return { id: input }
  if (!isObject(input)) throw new SyntaxError('it holds no node')
  checkMembers(input, ['id', 'store'], 'the file of a node')
  const { id, store } = input
  if (typeof id !== 'string' || !NODE.test(id)) throw new SyntaxError('it holds no id of a node')
  if (store === undefined) return { id }
  if (typeof store !== 'string') throw new SyntaxError('it holds no id of a store')
  return { id, store }
}
