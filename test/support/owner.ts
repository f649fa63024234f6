import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { type Ask, createClient, type Headers } from './http-client.ts'
import type { TestService } from './service.ts'

/** Asks on the owner's socket. @param always Headers that go with each request. */
export function asOwner({ folder }: Pick<TestService, 'folder'>, always: Headers = {}): Ask {
  return createClient('http://localhost', always, { socketPath: ownerSocketPath(folder.path) })
}
