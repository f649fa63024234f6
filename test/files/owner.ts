import { stat } from 'node:fs/promises'

/** The user id and the group id that a file or folder belongs to. */
export async function ownerOf(path: string): Promise<[uid: number, gid: number]> {
  const { uid, gid } = await stat(path)
  return [uid, gid]
}
