import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { copyLines, usualLine } from '../../src/console/copy-lines.ts'

const record = { id: 1, name: 'web1', hostname: 'web1.example.net', port: 2222, username: 'deploy' }
const api = { url: (path: string) => `https://connbook.example.net/base/${path}` }
const nobody = () => undefined

describe('the lines that the console copies', () => {
  it('are short for a usual record', () => {
    assert.deepEqual(
      copyLines(record, nobody, api).map(({ text }) => text),
      [
        'ssh -p 2222 -- deploy@web1.example.net',
        'deploy@web1.example.net:2222',
        'curl -H "Authorization: Bearer $TOKEN" https://connbook.example.net/base/configurations/web1',
      ],
    )
    assert.equal(usualLine({ ...record, port: 22 }, nobody).text, 'ssh -- deploy@web1.example.net')
  })

  it('write an IPv6 address as ssh and as others take it', () => {
    for (const hostname of ['2001:db8::1', '[2001:db8::1]']) {
      const [ssh, address] = copyLines({ ...record, hostname }, nobody, api)
      assert.equal(ssh?.text, 'ssh -p 2222 -- deploy@2001:db8::1')
      assert.equal(address?.text, 'deploy@[2001:db8::1]:2222')
    }
  })

  it('have an international name in ASCII, as DNS has it', () => {
    const shop = { ...record, hostname: 'bücher.example' }
    const [ssh, address] = copyLines(shop, nobody, api)
    assert.equal(ssh?.text, 'ssh -p 2222 -- deploy@xn--bcher-kva.example')
    assert.equal(address?.text, 'deploy@xn--bcher-kva.example:2222')
    const labels = { kind: 'pg' }
    assert.match(usualLine({ ...shop, labels }, nobody).text, /^psql 'host=xn--bcher-kva\.example port/)
    const hops = { 'ssh.proxyjump': 'gate' }
    assert.match(
      usualLine({ ...record, labels: hops }, () => ({ ...shop, name: 'gate' })).text,
      / -J deploy@xn--bcher-kva\.example:2222 /,
    )
  })

  it('go through the records that the labels name, with the key', () => {
    const gate = { ...record, id: 2, name: 'gate', hostname: '192.0.2.1', username: 'jump' }
    const labels = { 'ssh.proxyjump': 'gate', 'ssh.identityfile': '~/a b' }
    const find = (name: string) => (name === 'gate' ? gate : undefined)
    assert.equal(
      usualLine({ ...record, labels }, find).text,
      "ssh -p 2222 -J jump@192.0.2.1:2222 -i '~/a b' -- deploy@web1.example.net",
    )
    const lost = usualLine({ ...record, labels: { 'ssh.proxyjump': 'nobody' } }, find)
    assert.deepEqual(lost.warnings, ['goes through "nobody", which is the name of no record that you see'])
    assert.match(
      usualLine({ ...record, labels: { 'ssh.proxyjump': '-x' } }, find).fault ?? '',
      /that is not \[USER@\]/,
    )
    assert.match(
      usualLine({ ...record, labels: { 'ssh.identityfile': '%d' } }, find).fault ?? '',
      /that holds "%"/,
    )
  })

  it('are none for ssh when it would refuse the username, or run it as a word of a shell', () => {
    for (const username of ['$(touch x)', '`x`', 'a;b', '-l', 'a%r'])
      assert.match(usualLine({ ...record, username }, nobody).fault ?? '', /^has a username /, username)
  })

  it('are for the kind of the record', () => {
    const titles = (kind: string) =>
      copyLines({ ...record, labels: { kind } }, nobody, api).map(({ title }) => title)
    assert.deepEqual(titles('ssh'), ['ssh', 'address', 'curl'])
    assert.deepEqual(titles('pg'), ['psql', 'address', 'curl'])
    assert.deepEqual(titles('rdp'), ['address', 'curl'])
    const labels = { kind: 'postgres', 'pg.dbname': "a'b c", 'pg.sslmode': 'require' }
    assert.equal(
      usualLine({ ...record, hostname: '[2001:db8::1]', labels }, nobody).text,
      `psql 'host=2001:db8::1 port=2222 user=deploy dbname='\\''a\\'\\''b c'\\'' sslmode=require'`,
    )
  })
})
