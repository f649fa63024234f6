import { addition, configuration, list, sender, utf8, victim } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Labels on both sides of every limit, and those that could be taken for something else. */
export function labelRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer, 'Content-Type': 'application/json' })
  const record = (labels: string) =>
    utf8(`{"name":"n","hostname":"h","port":1,"username":"u","labels":${labels}}`)
  const add = (labels: string) => send(`POST ${list}`, {}, record(labels))
  const patch = (labels: string) => send(`PATCH ${victim}`, {}, utf8(`{"labels":${labels}}`))
  const upload = (type: string, body: string) => send('POST /v1/import', { 'Content-Type': type }, utf8(body))
  const taken = (title: string, labels: Record<string, string>) => {
    const stored = configuration({ name: `labels: ${title}`, labels })
    return addition(`takes ${title}`, send(`POST ${list}`, {}, utf8(JSON.stringify(stored))), stored)
  }
  const many = (count: number, value: string) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value])))
  const bad = [
    'null',
    '[]',
    '[["a","b"]]',
    '""',
    '"env=prod"',
    '0',
    'true',
    '{"":""}',
    '{"A":""}',
    '{"1":""}',
    '{"a ":""}',
    '{"a\\u0000":""}',
    '{"a\\nb":""}',
    '{"\\ud800":""}',
    '{"é":""}',
    '{"a=b":""}',
    '{"a-":""}',
    '{"__proto__":"x"}',
    '{"__proto__":{"env":"x"}}',
    `{"${'k'.repeat(64)}":""}`,
    '{"env":1}',
    '{"env":[]}',
    '{"env":{}}',
    '{"env":"a\\nb"}',
    '{"env":"\\u0085"}',
    '{"env":"\\ud800"}',
    `{"env":"${'x'.repeat(256)}"}`,
    many(33, ''),
    many(32, 'x'.repeat(255)),
    many(17, 'é'.repeat(255)),
  ]

  return [
    ...rows(entriesFrom(bad, add, 'added '), 400),
    ...rows(entriesFrom(bad, patch, 'modified '), 400),
    ...rows(
      entriesFrom(bad, (labels) => upload('application/json', `[${record(labels)}]`), 'imported '),
      400,
    ),
    ...rows(
      entriesFrom(
        ['x', 'a=1;', 'a=\\', 'a=\\x', 'a=1;a=2', '__proto__=x', 'A=1', '=x', ';;;', `a=${'x'.repeat(256)}`],
        (cell) => upload('text/csv', `name,hostname,port,username,labels\nn,h,1,u,${cell}\n`),
        'imported from CSV ',
      ),
      400,
    ),
    ...rows(
      entriesFrom(
        [
          'ProxyJump -oProxyCommand=x',
          'ProxyJump "a b"',
          'ProxyJump a;b',
          'IdentityFile %d/x',
          'ProxyCommand x',
        ],
        (line) => upload('text/plain', `Host n\n  User u\n  ${line}\n`),
        'imported from ssh ',
      ),
      400,
    ),
    ...rows({ 'null for a label of an add': add('{"env":null}') }, 400),
    ...rows(
      entriesFrom(
        ['{}', '{"env":null}', '{"constructor":null}'],
        (text) => send(`PATCH ${victim}`, {}, `{"labels":${text}}`),
        'nothing to do ',
      ),
      200,
    ),
    ...rows({ 'labels of every object': send(`PATCH ${victim}`, {}, '{"constructor":{"env":"x"}}') }, 400),
    taken('names of every object', { constructor: 'x', hasownproperty: 'y', prototype: 'z' }),
    taken('members of records and changes', {
      add: '1',
      id: '99',
      labels: '{}',
      name: 'x',
      remove: 'victim',
    }),
    taken('text like a frame', { a: 'deadbeef 20 1 [{"remove":"victim"}]', event: 'started', tag: 's-9' }),
    taken(
      'the longest',
      Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${10 + i}`, 'x'.repeat(255)])),
    ),
    taken('an empty value, quotes and separators', { a: '', b: '"\\;,=\u2028', c: '{{ x }}' }),
  ]
}
