import { createHash } from 'node:crypto'
import type { Configuration } from '../store/configuration.ts'

const HASH_CHARACTERS = 12
const OWN = new RegExp(`^%\\(directory\\)s/[0-9a-f]{${HASH_CHARACTERS}}(?:-%%r)?-%%p$`)
/** With a longer one, the path of the socket would pass 108 bytes in a home folder of 32: ssh adds 17 to it. */
const WRITTEN_USER_BYTES_MAX = 26

/**
 * The variable `ansible_control_path` of a record: connections that Ansible keeps open are found by it.
 *
 * Ansible's own is made of address, port and user alone. So it would run the tasks for one host on another of the same
 * address behind another hop.
 *
 * @param store Id of the records' store; records of two stores are different ones.
 * @param way The hops; '' without any.
 */
export function controlPathOf({ id, username }: Configuration, store: string, way: string): string {
  const isWritten = Buffer.byteLength(username) <= WRITTEN_USER_BYTES_MAX
  const parts = [store, id, way, ...(isWritten ? [] : [username])]
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, HASH_CHARACTERS)
  // Ansible fills in the folder by Python's `%`, ssh the rest: users and ports may be others than the record's.
  return `%(directory)s/${hash}${isWritten ? '-%%r' : ''}-%%p`
}

/** Whether `ansible_control_path` is one that an export has made. */
export function isOwnControlPath(text: string): boolean {
  return OWN.test(text)
}
