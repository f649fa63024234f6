import { execFileSync } from 'node:child_process'
import { missing } from './debian.ts'

/** For the `skip` of a test that needs keys or certificates of a kind that Node cannot make. */
export const noOpenSsl = missing('openssl')

export function openSsl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
