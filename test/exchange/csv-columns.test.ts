import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fault } from '../../src/errors.ts'
import { asFlags, type ImportWords, inQuery, parseImportOptions } from '../../src/exchange/import-options.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { read } from './read-text.ts'

function optionsOf(words: ImportWords, form: typeof inQuery | typeof asFlags = inQuery) {
  const faults: Fault[] = []
  const options = parseImportOptions(words, 'csv', form, (fault) => faults.push(fault))
  return { options, faults: faults.map(({ field, detail }) => `${field} ${detail}`) }
}

function readWith(text: string, words: ImportWords = {}, pieceBytes = 7) {
  const { options, faults } = optionsOf(words)
  assert.deepEqual(faults, [])
  const found = read('csv', text, pieceBytes, 100, undefined, options)
  return { ...found, faults: found.faults.map(({ line, field, detail }) => `${line} ${field} ${detail}`) }
}

/** What becomes of the columns of a header. */
function becomes(header: string, words?: ImportWords) {
  const { faults, read: form } = readWith(`${header}\n`, words)
  return faults.length > 0 ? faults : form.columns?.map((column) => column.becomes)
}

const FIELDS = ['name', 'hostname', 'port', 'username']

describe('the separator of CSV', () => {
  const record = { name: 'a', hostname: 'h', port: 22, username: 'x;,|y' }
  for (const separator of [',', ';', '\t', '|']) {
    const rows = ['name,hostname,port,username', 'a,h,22,"x;+|y"']
    const lines = rows.map((row) => row.replaceAll(',', separator).replace('+', ','))
    for (const end of ['\n', '\r\n', '\r']) {
      it(`is found to be ${JSON.stringify(separator)}, with lines that end in ${JSON.stringify(end)}`, () => {
        for (const pieceBytes of [1, 2, 9, 1_000]) {
          const { drafts, faults, read: form } = readWith(end + lines.join(end), {}, pieceBytes)
          assert.deepEqual([drafts, faults, form.separator], [[record], [], separator])
        }
      })
    }
  }

  it('is what a first line says, and before that what the caller says', () => {
    const text = 'a|b;name|hostname;port|username\n'
    assert.equal(readWith(`sep=;\r\n${text}`).read.separator, ';')
    const named = readWith('"sep=|"\r\nname|hostname|port|username\r\na|h|0|x\r\n')
    assert.deepEqual([named.read.separator, named.faults.length], ['|', 1])
    assert.match(named.faults[0] ?? '', /^3 port must be/)
    const said = readWith('sep=;\nname|hostname|port|username\n', { separator: '|' })
    assert.deepEqual([said.read.separator, said.faults], ['|', []])
    assert.equal(readWith('name\thostname\tport\tusername\n', { separator: 'tab' }).read.separator, '\t')
  })

  it('is the one with the most known names, outside of quotes, and those that are mapped count', () => {
    assert.equal(readWith('"name;b;c","hostname\n;",port,username\n').read.separator, ',')
    assert.equal(
      readWith('"name","hostname","port;","username"\n', { extra: 'ignore', default: ['port:1'] }).read
        .separator,
      ',',
    )
    const words = { map: ['name:N', 'hostname:H'], default: ['port:22', 'username:x'], extra: 'ignore' }
    assert.equal(readWith('N;H;x,y,z,w\n', words).read.separator, ';')
  })
})

describe('the columns of CSV', () => {
  it('are found whatever their case, spaces, "_" and "-"', () => {
    assert.deepEqual(becomes(' Name , Host Name,PORT,User_Name'), FIELDS)
    assert.deepEqual(becomes('NAME,host-name,Port,USERNAME,Id,Labels'), [...FIELDS, null, 'labels'])
  })

  it('have the names that other programs give them', () => {
    for (const name of [
      'host',
      'alias',
      'label',
      'title',
      'connection',
      'display name',
      'inventory_hostname',
    ])
      assert.deepEqual(becomes(`${name},ip,port,user`), FIELDS, name)
    for (const name of ['host name', 'address', 'ip', 'ip address', 'fqdn', 'server', 'ansible_host', 'host'])
      assert.deepEqual(becomes(`name,${name},ssh port,login`), FIELDS, name)
    assert.deepEqual(becomes('Alias,Host,ansible_port,Account'), FIELDS)
    assert.deepEqual(becomes('Host,Hostname,Port,ansible_user'), FIELDS)
  })

  it('are a fault when two are for one field, and map says which', () => {
    const header = 'name,ip,address,port,user'
    assert.deepEqual(becomes(header), [
      '1 header names "ip" and "address" for hostname; say which it is, such as map=hostname:ip',
    ])
    const words = { map: ['hostname:Address'], extra: 'labels' }
    assert.deepEqual(becomes(header, words), ['name', 'label.ip', 'hostname', 'port', 'username'])
  })

  it('that are not known are named all at once, with what is missing', () => {
    assert.deepEqual(becomes('name,Env,"Rack\t1",port'), [
      '1 header names "Env" and "Rack\\t1", which are not fields; add extra=labels to keep each as a label, or extra=ignore to leave them out',
      '1 header does not name hostname and username; say map=hostname:COLUMN, or fill in with default=hostname:VALUE',
    ])
    const many = Array.from({ length: 30 }, (_, i) => `c${i}`)
    assert.match(
      String(becomes(`${FIELDS.join(',')},${many.join(',')}`)),
      /"c19" and 10 more, which are not fields/,
    )
    const { options } = optionsOf({}, asFlags)
    const [fault] = read('csv', 'name,hostname,port,user,x\n', 99, 9, undefined, options).faults
    assert.match(fault?.detail ?? '', /add --extra labels to keep/)
  })

  it('become labels with extra=labels, and an empty cell removes one', () => {
    const header = 'name,host,port,user,Env,http_port,cost.center,Rack (1)x'
    const { drafts, read: form } = readWith(`${header}\na,h,22,x,prod,80,,é\n`, { extra: 'labels' })
    assert.deepEqual(
      form.columns?.slice(4).map((column) => column.becomes),
      [...['label.env', 'label.http_port', 'label.cost.center', 'label.rack--1-x']],
    )
    const patch = { env: 'prod', http_port: '80', 'cost.center': null, 'rack--1-x': 'é' }
    assert.deepEqual(drafts[0]?.labelsPatch, patch)
    assert.equal(drafts[0] && 'labels' in drafts[0], false)
  })

  it('named labels replaces all, and then the others set theirs', () => {
    const text = 'name,host,port,user,labels,env,role\na,h,22,x,env=old;role=web;x=1,prod,\n'
    const { drafts } = readWith(text, { extra: 'labels' })
    assert.deepEqual(drafts[0]?.labels, { env: 'prod', x: '1' })
    assert.equal(drafts[0]?.labelsPatch, undefined)
  })

  it('cannot become a label without a key, or two the same', () => {
    const header = FIELDS.join(',')
    assert.deepEqual(
      becomes(`${header},Memory (GB),2nd IP,\u0421\u0440\u0435\u0434\u0430`, { extra: 'labels' }),
      [
        '1 header names "Memory (GB)", "2nd IP" and "\u0421\u0440\u0435\u0434\u0430", which cannot be keys of labels: such a key is 1 to 63 of a-z, 0-9, ".", "_", "/" and "-", the first a letter; say a key for each, such as map=label.KEY:Memory (GB)',
      ],
    )
    assert.match(
      String(becomes(`${header},(1)`, { extra: 'labels' })),
      /names "\(1\)", which cannot be the key of a label/,
    )
    assert.deepEqual(
      readWith('name,hostname,port,username,Zust\u00e4ndig,E\u0301tage\na,h,22,u,x,y\n', { extra: 'labels' })
        .drafts[0]?.labelsPatch,
      { zustandig: 'x', etage: 'y' },
    )
    assert.deepEqual(becomes(`${header},My Env,my-env`, { extra: 'labels' }), [
      '1 header names "My Env" and "my-env" for the label my-env',
    ])
    assert.deepEqual(becomes(`${header},My Env,my-env`, { extra: 'labels', map: ['label.my-env:My Env'] }), [
      ...[...FIELDS, 'label.my-env', null],
    ])
  })

  it('without a name are left out if they are empty, as where a spreadsheet ends its lines in separators', () => {
    const header = `${FIELDS.join(';')};; `
    for (const words of [{}, { extra: 'labels' }, { map: ['label.x:username'], default: ['username:x'] }]) {
      const { drafts, faults, read: form } = readWith(`${header}\na;h;22;x;;\n`, words)
      assert.deepEqual(faults, [])
      assert.deepEqual([drafts.length, drafts[0]?.name], [1, 'a'])
      assert.deepEqual(
        form.columns?.slice(4).map((column) => column.becomes),
        [null, null],
      )
    }
    const filled = `${header}\na;h;22;x;;\nb;h;22;x;;lost\n`
    assert.deepEqual(readWith(filled).faults, [
      '3 row has a value in column 6, which has no name in the header; name it there, or add extra=ignore to leave it out',
    ])
    assert.deepEqual(readWith(filled, { extra: 'ignore' }).faults, [])
    assert.equal(readWith('name,hostname,port,\na,h,22,x\n', { map: ['username:'] }).drafts.length, 1)
  })

  it('are left out with extra=ignore', () =>
    assert.deepEqual(becomes('name,host,port,user,Env,', { extra: 'ignore' }), [...FIELDS, null, null]))

  it('that say a secret are never taken, and a warning names them without their values', () => {
    const secrets = [
      'Password',
      'SSH_PASSWD',
      'client-secret',
      'Key Passphrase',
      'PrivateKey',
      'api_token',
      'pass',
      'userPwd',
      'Credentials',
    ]
    for (const extra of [undefined, 'labels', 'ignore']) {
      const {
        drafts,
        warnings,
        read: form,
      } = readWith(
        `${FIELDS.join(',')},${secrets.join(',')}\na,h,22,x,${secrets.map(() => 'hunter2').join(',')}\n`,
        { extra },
      )
      assert.deepEqual(drafts, [{ name: 'a', hostname: 'h', port: 22, username: 'x' }])
      assert.deepEqual(
        warnings,
        secrets.map((name) => ({ line: 1, detail: `column "${name}" was left out: its name says a secret` })),
      )
      assert.deepEqual(
        form.columns?.slice(4),
        secrets.map((column) => ({ column, becomes: null, secret: true })),
      )
    }
    assert.deepEqual(becomes(`${FIELDS.join(',')},Password`, { map: ['label.pw:password'] }), [
      '1 map names "password", whose name says a secret; such a column is never taken',
    ])
    assert.deepEqual(becomes(`${FIELDS.join(',')},Compass,Passport`, { extra: 'labels' }), [
      ...[...FIELDS, 'label.compass', 'label.passport'],
    ])
  })

  it('that are missing, and empty cells, are filled in', () => {
    const words = { default: ['port:22', 'username:ops'] }
    const { drafts } = readWith('name,host,user\na,h,root\nb,h,\n', words)
    assert.deepEqual(
      drafts.map(({ port, username }) => `${port} ${username}`),
      ['22 root', '22 ops'],
    )
  })

  it('can leave rows out: several values of one column, and all of several columns', () => {
    const rows = ['a,SSH,prod', 'b,RDP,prod', 'c,Telnet,prod', 'd,SSH,test', 'e,ssh,prod', 'f,,'].map(
      (row) => `${row},h\n`,
    )
    const only = ['Protocol:SSH', 'Protocol:Telnet', 'env:prod']
    const words = { only, default: ['port:22', 'username:ops'] }
    const { drafts, faults } = readWith(`name,protocol,Env,ip\n${rows.join('')}`, words)
    assert.deepEqual([drafts.map(({ name }) => name), faults], [['a', 'c'], []])
  })

  it('are left out where map gives no field, whatever they are called, as often as that is', () => {
    const map = [':Notes', ':port', ':Password', 'port:SSH']
    assert.deepEqual(becomes('name,host,port,user,Notes,SSH,Password', { map }), [
      ...['name', 'hostname', null, 'username', null, 'port', null],
    ])
    assert.deepEqual(becomes('name,host,port,user', { map: [':port', 'label.port:port'] }), [
      '1 map names "port" for nothing and label.port',
      '1 header does not name port; say map=port:COLUMN, or fill in with default=port:VALUE',
    ])
  })

  it('say that they are not decided where a fault asks the caller', () => {
    const { faults, read: form } = readWith('name;host;Rack;Kind;Token;1;1\na;h;r;x;t;;\n', {
      only: ['kind:x'],
    })
    assert.equal(faults.length, 2)
    assert.deepEqual(form, {
      ...{ encoding: 'utf-8', separator: ';' },
      columns: [
        { column: 'name', becomes: 'name' },
        { column: 'host', becomes: 'hostname' },
        { column: 'Rack' },
        { column: 'Kind', becomes: null },
        { column: 'Token', becomes: null, secret: true },
        { column: '1' },
        { column: '1' },
      ],
      first: [],
    })
  })

  it('that map and only name must be there, once', () => {
    assert.deepEqual(becomes('name,host,Port,port,user', { map: ['port:PORT'], only: ['Kind:x'] }), [
      ...[
        '1 map names "PORT", which is more than one column of "name", "host", "Port", "port" and "user"',
        '1 only names "Kind", which is not a column; the header has "name", "host", "Port", "port" and "user"',
      ],
      '1 header names "Port" and "port" for port; say which it is, such as map=port:Port',
    ])
    assert.deepEqual(becomes('name,host,port,user', { map: ['port:Port', 'hostname:port'] }), [
      '1 map names "port" for port and hostname',
    ])
  })
})

describe('what a caller says of the columns', () => {
  it('is refused before there is a file', () => {
    const words = {
      map: ['name', 'nam:x', 'label.A:x', 'port:a', 'port:b'],
      only: ['x'],
      default: ['name:x', 'port:ssh', 'username:'],
    }
    const { faults } = optionsOf(words)
    assert.deepEqual(
      faults.map((fault) => fault.slice(0, 60)),
      [
        'map must be FIELD:COLUMN, not "name"',
        'only must be COLUMN:VALUE, not "x"',
        'map "nam" is not a field: name, hostname, port, username, la',
        'map "A" is not a label: a key is 1 to 63 of a-z, 0-9, ".", "',
        'default "name" is not a field that it fills in: hostname, po',
        'default port must be an integer from 1 to 65535',
        'default username must not be empty',
        'map says "a" and "b" for port',
      ],
    )
  })

  it('divides at the first ":" in a query, and at the first "=" in flags', () => {
    assert.deepEqual(optionsOf({ only: ['a:b:c=d'] }).options.only, [['a', 'b:c=d']])
    assert.deepEqual(optionsOf({ only: ['a:b=c=d'] }, asFlags).options.only, [['a:b', 'c=d']])
  })

  it('is for CSV alone, or for few others', () => {
    const faults: Fault[] = []
    parseImportOptions({ extra: 'labels', map: [], only: ['a:b'] }, 'json', inQuery, (fault) =>
      faults.push(fault),
    )
    assert.deepEqual(faults, [
      { field: 'extra', detail: 'is for csv and ansible only; this file is json' },
      { field: 'only', detail: 'is for csv only; this file is json' },
    ])
  })
})

describe('CSV of somebody who wishes ill', () => {
  const tooLong = `row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`
  const header = FIELDS.join(',')
  const bombs: Record<string, readonly [text: string, words: ImportWords, fault: RegExp | string]> = {
    'a header of 16 MiB': ['x'.repeat(16 * 1024 * 1024), {}, `1 ${tooLong}`],
    'a row of 16 MiB': [`${header}\n${'x'.repeat(16 * 1024 * 1024)}`, {}, `2 ${tooLong}`],
    'a quote in the header without an end': [`"${header}\n`.padEnd(1024 * 1024, 'a\n'), {}, `1 ${tooLong}`],
    'a quote in a row without an end': [`${header}\n"a`.padEnd(1024 * 1024, ',b\n'), {}, `2 ${tooLong}`],
    'a megabyte of separators': [';'.repeat(1024 * 1024), {}, /^1 header is missing/],
    '10,000 columns without a name': [
      `${header}${','.repeat(10_000)}\na,h,1,u${','.repeat(10_000)}x\n`,
      {},
      /^2 row has a value in column 10004, /,
    ],
    '5,000 columns without a field': [
      `${header}${',x'.repeat(5_000)}\na,h,1,u\n`,
      {},
      /^1 header names "x", .* and 4980 more, /,
    ],
    '10,000 rows of separators above the header': [
      `${';;\n'.repeat(10_000)}a`,
      {},
      /^10001 header names "a"/,
    ],
    '3,000 columns for one field': [
      `${'ip,'.repeat(3_000)}name,port,user\n`,
      {},
      /^1 header names "ip", .* and 2980 more for hostname/,
    ],
    '3,000 columns for one label': [
      `${header}${',x y'.repeat(3_000)}\n`,
      { extra: 'labels' },
      /^1 header names "x y" and "x y" for the label x-y$/,
    ],
  }
  for (const [what, [text, words, fault]] of Object.entries(bombs)) {
    it(`is refused: ${what}`, () => {
      const [first = '', ...others] = readWith(text, words, 65_536).faults
      if (typeof fault === 'string') assert.deepEqual([first, others], [fault, []])
      else assert.match(first, fault)
    })
  }

  it('leaves 2,000 columns out', () => {
    const columns = Array.from({ length: 2_000 }, (_, i) => `c${i}`)
    const row = `a,h,22,x,1${','.repeat(1_999)}\n`
    const text = `${header},${columns.join(',')}\n${row}`
    const { drafts, faults } = readWith(text, { extra: 'ignore' }, 65_536)
    assert.deepEqual([faults, drafts.length], [[], 1])
  })
})

describe('the columns of CSV that become labels', () => {
  const fields = 'name,hostname,port,username'
  const columns = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`)
  const fault =
    '1 header has 33 columns that become labels, and a record has at most 32; leave some out with map=:COLUMN'
  const row = `a,h,22,u,${columns(33).join(',')}\n`

  it('are not more than a record can have, which the header is enough to refuse', () => {
    const header = `${fields},${columns(33).join(',')}\n`
    const map = columns(33).map((name) => `label.${name}:${name}`)
    for (const words of [{ extra: 'labels' }, { map }, { extra: 'labels', map: map.slice(0, 20) }]) {
      const { faults, drafts } = readWith(header + row.repeat(3), words)
      assert.deepEqual([faults, drafts], [[fault], []])
    }
    assert.equal(readWith(header + row, { extra: 'labels', map: [':x7'] }).drafts.length, 1)
  })

  it('are found once, however many parameters name them', (t) => {
    const names = columns(1_000)
    const only = names.slice(0, 500).map((name) => `${name.toUpperCase()}:1`)
    const map = names.slice(500).map((name) => `:${name.toUpperCase()}`)
    const lower = t.mock.method(String.prototype, 'toLowerCase')
    const { faults } = readWith(`${fields},${names.join(',')}\n`, { only, map })
    assert.deepEqual(faults, [])
    assert.ok(lower.mock.callCount() < 30 * names.length, `${lower.mock.callCount()} times`)
  })
})
