import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ADDRESS_SPACE_MIB_MIN } from '../../src/limits.ts'
import { AddressSpaceError, checkAddressSpace } from '../../src/service/address-space.ts'

const limitsWith = (bytes: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax file size             unlimited            unlimited            bytes     \nMax address space         ${bytes.padEnd(20)} unlimited            bytes     \n`

describe('checkAddressSpace', () => {
  it('takes no limit, a high one, and a system that tells none', () => {
    for (const limits of [limitsWith('unlimited'), limitsWith(String(ADDRESS_SPACE_MIB_MIN * 1024 ** 2)), ''])
      checkAddressSpace(limits)
    checkAddressSpace()
  })

  it('refuses a low limit, and says what to do', () => {
    assert.throws(
      () => checkAddressSpace(limitsWith(String(2000 * 1024 ** 2))),
      (error) =>
        error instanceof AddressSpaceError && /of 2000 MiB: .*ulimit -v, LimitAS=/.test(error.message),
    )
  })
})
