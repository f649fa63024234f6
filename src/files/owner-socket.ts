import { join } from 'node:path'

/** A running server makes it in its data folder; it holds nothing, and a copy of it does no harm. */
export const OWNER_SOCKET = '.control'

/** On Linux; other systems have a few bytes less (unix(7)). */
const SOCKET_PATH_BYTES_MAX = 107

/** @param folder Path of a data folder. */
export function ownerSocketPath(folder: string): string {
  return join(folder, OWNER_SOCKET)
}

/** Why the system takes no Unix socket at a path; undefined if it does. */
export function whyTooLong(path: string): string | undefined {
  const bytes = Buffer.byteLength(path)
  return bytes > SOCKET_PATH_BYTES_MAX
    ? `its path has ${bytes} bytes, and the system takes ${SOCKET_PATH_BYTES_MAX}`
    : undefined
}
