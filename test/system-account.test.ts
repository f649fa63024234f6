import './support/node-version.ts'
import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { it } from 'node:test'
import { loginsOf } from '../src/client/logins.ts'
import { homeFolder } from '../src/system-account.ts'

it('an account that the system does not know has the root for its home', (t) => {
  t.mock.method(os, 'homedir', () => {
    throw Object.assign(new Error('uv_os_homedir'), { code: 'ERR_SYSTEM_ERROR' })
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  assert.equal(homeFolder(), '/')
  assert.equal(loginsOf({}).path, '/.local/state/connbook/sessions.json')
})
