import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { asFlags, type ImportOptions, noImportOptions } from '../../src/exchange/import-options.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { draftsOf, faultsOf, read } from './read-text.ts'

describe('a service file of libpq', () => {
  it('becomes a record a section, with comments, blank lines and white space as libpq reads them', () => {
    const text =
      '# mine\r\n\r\n[ my db ] # and its comment\r\n  host=db.example  \r\n\tuser=a#b "c"=\\d\r\n#user=x\n' +
      'dbname= lead\nsslmode=verify-full\nport= 05433\n[b]\nhost=::1\nuser=u\nport=\ndbname='
    assert.deepEqual(draftsOf('pg-service', text), [
      {
        name: ' my db ',
        hostname: 'db.example',
        port: 5433,
        username: 'a#b "c"=\\d',
        labelsPatch: { 'pg.dbname': ' lead', 'pg.sslmode': 'verify-full' },
      },
      { name: 'b', hostname: '::1', port: 5432, username: 'u', labelsPatch: { 'pg.dbname': null } },
    ])
  })

  it('counts only the first section of a name, and the first value of a setting', () => {
    const text =
      'user=x\n[a]\nhost=h1\nhost=h2\nuser=u\n[a]\nhost=h3\nnonsense\n[b]\nhost=h\nuser=u\nuser=v\n[a]\n'
    const { drafts, faults, warnings } = read('pg-service', text)
    assert.deepEqual([faults, drafts.map(({ hostname }) => hostname)], [[], ['h1', 'h']])
    assert.deepEqual(warnings, [
      { line: 1, detail: 'what stands before the first [name] was left out, as libpq does' },
      { line: 4, detail: 'a second host of a service was left out, as libpq does' },
      {
        line: 6,
        detail: 'a section was left out whose name an earlier one has: libpq reads that: lines 6 and 13',
      },
      { line: 12, detail: 'a second user of a service was left out, as libpq does' },
    ])
  })

  it('names the settings that no record has, what changes the destination first, and no secret', () => {
    const rows = [1, 2, 3, 4, 5].map((i) => `[a${i}]\nhost=h\nuser=u\nconnect_timeout=3\n`).join('')
    const text = `${rows}password=hunter2\nhostaddr=192.0.2.1\n`
    const { faults, warnings } = read('pg-service', text)
    assert.deepEqual(faults, [])
    assert.deepEqual(warnings, [
      {
        line: 18,
        detail: 'host was left out: libpq connects to hostaddr, and host is only a name to it',
      },
      { line: 4, detail: 'connect_timeout was left out: lines 4, 8, 12 and 2 more' },
      { line: 21, detail: 'password was left out: its name says a secret' },
    ])
  })

  it('goes where libpq connects to: to hostaddr, if there is one', () => {
    const at = (text: string) => draftsOf('pg-service', `[a]\nuser=u\n${text}`).map((draft) => draft.hostname)
    assert.deepEqual(at('hostaddr=192.0.2.1\n'), ['192.0.2.1'])
    assert.deepEqual(at('host=db.example\nhostaddr=2001:db8::1\n'), ['2001:db8::1'])
    assert.deepEqual(at('hostaddr=192.0.2.1\nhost=/var/run/postgresql\n'), ['192.0.2.1'])
    assert.deepEqual(at('hostaddr=\nhost=db.example\n'), ['db.example'])
    const same = read('pg-service', '[a]\nuser=u\nhost=192.0.2.1\nhostaddr=192.0.2.1\nsslmode=verify-full\n')
    assert.deepEqual([same.warnings, same.faultCount], [[], 0])
  })

  it('has a fault where the name that is lost decides whom libpq trusts', () => {
    const text =
      '[a]\nuser=u\nhost=db.example\nhostaddr=192.0.2.1\nsslmode=verify-full\n' +
      '[b]\nuser=u\nhostaddr=db.example\n[c]\nuser=u\nhostaddr=192.0.2.1,192.0.2.2\n' +
      '[d]\nuser=u\nhost=db.example\nhostaddr=192.0.2.1\nsslmode=verify-ca\n'
    assert.deepEqual(faultsOf('pg-service', text), [
      '5 sslmode is verify-full, which checks host in the certificate; a record has no host beside hostaddr: remove one of them',
      '8 hostname must be an IP address in hostaddr; write a name as host',
      '11 hostname has several addresses; make it a service for each',
    ])
  })

  it('has every fault with its line and remedy, all at once', () => {
    const text =
      '[a]\nhost=/var/run/postgresql\nport=ssh\nsslmode=on\nhost =h\nldap://h/dn\n[b\nuser=u\n[c]\nservice=a\nuser=u\n' +
      `[d]\nhost=h1,h2\nuser=u\nport=70000\n#${'x'.repeat(1021)}\nnonsense\n`
    assert.deepEqual(faultsOf('pg-service', text, 1_000), [
      '1 username is missing; write user=NAME, or give default=username:NAME',
      '2 hostname is the path of a socket; a record has a host name or an address',
      '3 port must be an integer from 1 to 65535',
      '4 sslmode must be disable, allow, prefer, require, verify-ca or verify-full',
      '5 row is not NAME=VALUE, without a space before the "=", as libpq demands it',
      '6 row has libpq look up the service in LDAP; write its settings here instead',
      '7 row has no "]" behind the name of the service',
      '9 hostname is missing; write host=HOST',
      '10 service names another service, which libpq refuses',
      '13 hostname names several hosts; make it a service for each',
      '15 port must be an integer from 1 to 65535',
      '16 row is longer than 1021 bytes, and libpq then refuses the whole file',
    ])
  })

  it('is left out where a line of it cannot be read, because that line may be what makes it safe', () => {
    const options: ImportOptions = { ...noImportOptions, isSkipping: true }
    const long = `#${'x'.repeat(1021)}`
    const broken = ['sslmode verify-full', 'sslmode =verify-full', long, 'service=x', 'ldap://h/dn']
    const sections = broken.map((line, i) => `[s${i}]\nhost=h\n${line}\nuser=u\n`)
    const text = `[a]\nhost=h\nuser=u\n${sections.join('')}[b]\nhost=h\nuser=u\nx\nx\n[c]\nhost=h\nuser=u\n[d\nx\n`
    const { drafts, warnings } = read('pg-service', text, 7, 100, undefined, options)
    assert.deepEqual(
      drafts.map(({ name }) => name),
      ['a', 'c'],
    )
    const form = 'row is not NAME=VALUE, without a space before the "=", as libpq demands it'
    assert.deepEqual(warnings.slice(0, 2), [
      { line: 6, detail: `left out: ${form}: lines 6, 10, 27 and 1 more; of "s0", "s1" and "b"` },
      {
        ...{ line: 14, name: 's2' },
        detail: 'left out: row is longer than 1021 bytes, and libpq then refuses the whole file',
      },
    ])
    assert.deepEqual(read('pg-service', text).faults[2], {
      ...{ line: 18, name: 's3', field: 'service' },
      detail: 'names another service, which libpq refuses',
    })
  })

  it('must have a section', () => {
    for (const text of ['', '# nothing\n', 'host=h\nuser=u\n'])
      assert.deepEqual(faultsOf('pg-service', text), ['1 document has no [name] of a service'])
  })

  it('takes the given username where it has none, and names the flag where that is missing, too', () => {
    const options: ImportOptions = {
      ...noImportOptions,
      spell: asFlags.spell,
      defaults: [['username', 'ops']],
    }
    const text = '[a]\nhost=h\n[b]\nhost=h\nuser=u\n'
    const { drafts } = read('pg-service', text, 7, 100, undefined, options)
    assert.deepEqual(
      drafts.map(({ username }) => username),
      ['ops', 'u'],
    )
    const { faults } = read('pg-service', text, 7, 100, undefined, { ...options, defaults: [] })
    assert.match(faults[0]?.detail ?? '', /or give --default username=NAME$/)
  })
})

describe('a hostile service file', () => {
  it('may have a line of 16 MiB, which is one fault', () => {
    for (const line of ['x'.repeat(16 * 1024 * 1024), '['.repeat(16 * 1024 * 1024)]) {
      const { faults, faultCount } = read('pg-service', `[a]\nhost=h\nuser=u\n${line}\nport=x\n`, 65_536)
      assert.deepEqual([faultCount, faults.map((fault) => fault.line)], [2, [4, 5]])
    }
  })

  it('may name any number of settings, and has a bounded number of warnings', () => {
    const settings = Array.from({ length: 30_000 }, (_, i) => `s${i.toString(36).replace(/\d/g, '_')}=1\n`)
    const { warnings } = read('pg-service', `[a]\nhost=h\nuser=u\n${settings.join('')}`, 65_536)
    assert.equal(warnings.length, 100)
    assert.ok(JSON.stringify(warnings).length < IMPORT_ROW_CHARACTERS_MAX)
  })
})
