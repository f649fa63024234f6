import { userInfo } from 'node:os'

/** The account of this process; in a container it may have no name. */
export function systemAccount(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
