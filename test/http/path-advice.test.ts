import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { adviseOnPath, createRouter, type Route } from '../../src/http/router.ts'

const route = (path: string): Route => ({
  method: 'GET',
  path,
  access: 'read',
  limits: 'same',
  handle: () => ({ status: 200, headers: {} }),
})
const advise = (path: string, basePath = '') =>
  adviseOnPath(createRouter([route('/things/'), route('/things/:name'), route('/v1/login')], basePath), path)

describe('adviseOnPath', () => {
  it('names %2F for more segments than a name has', () => {
    for (const path of ['/things/a/b', '/things/a/b/', '/things/a/b/c/d', '/things/%2f/%zz'])
      assert.match(advise(path), /%2F/, path)
    assert.match(advise('/base/things/a/b', '/base'), /%2F/)
  })

  it('names the slash too many at the end', () => {
    for (const path of ['/things/a/', '/v1/login/'])
      assert.match(advise(path), /ends in a slash too many/, path)
  })

  it('names two slashes', () => {
    for (const path of ['/things//', '/things//a', '/v1//login', '/things///a'])
      assert.match(advise(path), /two slashes/, path)
  })

  it('names a part that is encoded but not a name', () => {
    for (const path of ['/%74hings/', '/things%2Fa', '/v1/%6cogin', '/%74hings/%61'])
      assert.match(advise(path), /percent-encode only names/, path)
  })

  it('gives no advice on other paths', () => {
    for (const path of [
      '/',
      '/v1',
      '/nothing',
      '/nothing/',
      '/nothing//x',
      '/%6eothing',
      '/%zz',
      `/${'a/'.repeat(5_000)}`,
    ])
      assert.equal(advise(path), '', path.slice(0, 20))
    assert.equal(advise('/things/a/', '/base'), '')
  })
})
