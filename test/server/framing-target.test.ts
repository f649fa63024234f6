import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { originFormOf } from '../../src/server/framing.ts'

const formOf = (target: string, host: string | undefined = 'a', method = 'GET') =>
  originFormOf(target, method, host)

describe('originFormOf', () => {
  it('leaves a path as it is', () => {
    for (const path of ['/', '/a//b?c', '/%2e%2e/%41']) assert.equal(formOf(path), path)
    assert.equal(originFormOf('/', 'GET', undefined), '/')
  })

  it('takes a URL like its path when its authority is the host', () => {
    assert.equal(formOf('http://a/b/%2e%2e?c'), '/b/%2e%2e?c')
    assert.equal(formOf('HTTPS://A/b'), '/b')
    assert.equal(formOf('http://a:80/b'), '/b')
    assert.equal(formOf('http://a/b', 'a:80'), '/b')
    assert.equal(formOf('https://a:443/b'), '/b')
    assert.equal(formOf('http://[::1]:8080/b', '[::1]:8080'), '/b')
    assert.equal(formOf('http://a'), '/')
    assert.equal(formOf('http://a?b'), '/?b')
  })

  it('refuses a URL of another host, port or scheme, with a user, or with a fragment', () => {
    const refused = ['http://b/', 'http://a:81/', 'https://a:80/', 'ftp://a/', 'http:///', 'http:a/']
    refused.push('http://a@b/', 'http://b@a/', 'http://a/#b', 'http://a//b', 'http://a\\b/', 'http://a b/')
    for (const target of refused) assert.equal(formOf(target), undefined, target)
    assert.equal(formOf('http://a/', ''), undefined)
    assert.equal(originFormOf('http://a/', 'GET', undefined), undefined)
  })

  it('refuses two slashes at the beginning, a fragment and a relative path', () => {
    for (const target of ['//a', '/a#b', 'a', '', '?a']) assert.equal(formOf(target), undefined, target)
  })

  it('takes * for OPTIONS alone, and the host alone like it', () => {
    assert.equal(formOf('*', 'a', 'OPTIONS'), '*')
    assert.equal(formOf('http://a', 'a', 'OPTIONS'), '*')
    assert.equal(formOf('http://a/', 'a', 'OPTIONS'), '/')
    assert.equal(formOf('*'), undefined)
  })
})
