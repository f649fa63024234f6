import { addition, chunked, configuration, deletion, list, sender } from '../requests.ts'
import { cutRows, entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Where a body ends: if two readers disagree, a request may hide from one of them. */
export function framingRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer })
  const smuggled = deletion({ Authorization: bearer })
  const framed = (fields: string, body = `0\r\n\r\n${smuggled}`) =>
    `POST ${list} HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer}\r\n${fields}\r\n\r\n${body}`
  const framings = (...fields: string[]) => entriesFrom(fields, (field) => framed(field))
  const chunk = (body: string) => framed('Transfer-Encoding: chunked', body)
  const record = (name: string) => JSON.stringify(configuration({ name }))
  const adds = (title: string, toBytes: (body: string) => string) => {
    const name = `framing ${title}`
    return addition(title, toBytes(record(name)), configuration({ name }))
  }
  /** A good request whose chunk has another size line; `size` is the right number. */
  const sizes = (...toLines: ((size: string) => string)[]) =>
    Object.fromEntries(
      toLines.map((toLine) => {
        const line = toLine('2')
        return [`chunk size ${JSON.stringify(line)}`, chunk(`${line}\r\n{}\r\n0\r\n\r\n${smuggled}`)]
      }),
    )
  const behind = (bytes: string) => bytes + smuggled

  return [
    ...rows(
      framings(
        'Content-Length: 5\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 5',
        'Content-Length: 0\r\nTransfer-Encoding: chunked',
        'Content-Length: 5\r\nTransfer-Encoding: identity',
        'Content-Length: 5\r\nTransfer-Encoding:',
        'Content-Length: 5\r\nTransfer-Encoding: \x0bchunked',
        'Content-Length: 5\r\nTransfer-Encoding: xchunked',
        'Content-Length: 5\r\nTransfer-Encoding : chunked',
        'Content-Length: 5\r\nContent-Length: 6',
        'Content-Length: 5\r\nContent-Length: 5',
        'Content-Length: 5\r\ncontent-length: 5',
        'Content-Length: 0\r\nContent-Length: 5',
        'Content-Length: 5\r\nContent-Length:',
        'Content-Length: 5, 5',
        'Content-Length: 5, 6',
        'Content-Length: 5,',
        'Content-Length: ,5',
        'Content-Length: 5;5',
        'Content-Length: +5',
        'Content-Length: -5',
        'Content-Length: -0',
        'Content-Length: 0x5',
        'Content-Length: 5h',
        'Content-Length: 5.0',
        'Content-Length: 5e0',
        'Content-Length: 5_0',
        'Content-Length: 5 5',
        'Content-Length: 5\t5',
        'Content-Length: 5\x0b',
        'Content-Length: \x0c5',
        'Content-Length: 5\0',
        'Content-Length: 5\xa0',
        'Content-Length: \xef\xbc\x95',
        'Content-Length: "5"',
        "Content-Length: '5'",
        'Content-Length: (5)',
        'Content-Length: five',
        'Content-Length: NaN',
        'Content-Length: Infinity',
        'Content-Length: null',
        'Content-Length:',
        'Content-Length: \t',
        'Content-Length : 5',
        'Content-Length\t: 5',
        'Content-Length\x0b: 5',
        'Content-Length 5',
        'Content-Length:\r\n 5',
        'Content-Length: 5\r\n 0',
        ' Content-Length: 5',
        'X: y\nContent-Length: 5',
        'X: y\rContent-Length: 5',
        'X: y\0Content-Length: 5',
        'Content-Length: 5\nX: y',
        'Content-Length: 5\rX: y',
        'Content-Length: 18446744073709551616',
        'Content-Length: 18446744073709551621',
        'Content-Length: 99999999999999999999999',
        `Content-Length: ${'9'.repeat(5_000)}`,
      ),
      400,
    ),
    // A coding that is not understood should be 501 (RFC 9112 section 6.1); as an attack on the framing it is 400 here.
    ...rows(
      framings(
        'Transfer-Encoding: xchunked',
        'Transfer-Encoding: chunkedx',
        'Transfer-Encoding: chunke',
        'Transfer-Encoding: chunk ed',
        'Transfer-Encoding: cow',
        'Transfer-Encoding: gzip',
        'Transfer-Encoding: identity',
        'Transfer-Encoding: chunked, identity',
        'Transfer-Encoding: identity, chunked',
        'Transfer-Encoding: gzip, chunked',
        'Transfer-Encoding: chunked, gzip',
        'Transfer-Encoding: chunked, chunked',
        'Transfer-Encoding: chunked chunked',
        'Transfer-Encoding: chunked,',
        'Transfer-Encoding: ,chunked',
        'Transfer-Encoding: x, ,chunked',
        'Transfer-Encoding: chunked;q=1',
        'Transfer-Encoding: chunked;',
        'Transfer-Encoding: chunked; chunked',
        'Transfer-Encoding:',
        'Transfer-Encoding: \t',
        'Transfer-Encoding: "chunked"',
        "Transfer-Encoding: 'chunked'",
        'Transfer-Encoding: (x) chunked',
        'Transfer-Encoding: \\chunked',
        'Transfer-Encoding : chunked',
        'Transfer-Encoding\t: chunked',
        'Transfer-Encoding\x0b: chunked',
        'Transfer-Encoding\xa0: chunked',
        'Transfer-Encoding chunked',
        'Transfer-Encoding:\x0bchunked',
        'Transfer-Encoding: \x0cchunked',
        'Transfer-Encoding: chunked\x0b',
        'Transfer-Encoding: chunked\x0c',
        'Transfer-Encoding: chunked\0',
        'Transfer-Encoding: chunked\x7f',
        'Transfer-Encoding: chunked\xa0',
        'Transfer-Encoding: \xc2\xa0chunked',
        'Transfer-Encoding: ch\xc3\xbcnked',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
        'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: x\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding:',
        'Transfer-Encoding: chunked\r\ntransfer-encoding: cow',
        'Transfer-Encoding:\r\n chunked',
        'Transfer-Encoding:\n chunked',
        'Transfer-Encoding: chunked\r\n x',
        ' Transfer-Encoding: chunked',
        'X: y\nTransfer-Encoding: chunked',
        'X: y\rTransfer-Encoding: chunked',
        'X: y\0Transfer-Encoding: chunked',
        'X: y\r\n Transfer-Encoding: chunked',
        'X: y\r\rTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\nX: y',
        'Transfer-Encoding: chunked\rX: y',
        'Transfer-Encoding: 0',
        'Transfer-Encoding: __proto__',
        // A tab at the end does not belong to the value (RFC 9110 section 5.5), but some readers keep it.
        'Transfer-Encoding: chunked\t',
      ),
      400,
    ),
    adds('length with leading zeros', (body) => framed(`Content-Length: 000${body.length}`, body)),
    adds('length with white space around it', (body) => framed(`Content-Length: \t ${body.length} \t`, body)),
    adds('length named in Connection', (body) =>
      framed(`Connection: Content-Length, keep-alive\r\nContent-Length: ${body.length}`, body),
    ),
    adds('coding named in Connection', (body) =>
      framed('Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked', chunked(body)),
    ),
    adds('chunked in capitals', (body) => framed('TRANSFER-ENCODING: CHUNKED', chunked(body))),
    adds('chunked with white space around it', (body) =>
      framed('Transfer-Encoding:\t  chunked  ', chunked(body)),
    ),
    adds('chunk for each byte', (body) =>
      chunk(`${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
    ),
    adds('chunk size with leading zeros', (body) =>
      chunk(`0000${body.length.toString(16)}\r\n${body}\r\n000\r\n\r\n`),
    ),
    adds('chunk size in capitals', (body) =>
      chunk(`${body.length.toString(16).toUpperCase()}\r\n${body}\r\n0\r\n\r\n`),
    ),
    adds('chunk extensions', (body) =>
      chunk(`${body.length.toString(16)};a;b=c;d="e;f"\r\n${body}\r\n0;last\r\n\r\n`),
    ),
    // None of these may have an effect in a trailer (RFC 9110 section 6.5.1).
    adds('trailer Content-Type', (body) =>
      chunk(chunked(body).replace(/\r\n$/, 'Content-Type: text/xml\r\n\r\n')),
    ),
    adds('trailer Authorization', (body) =>
      chunk(chunked(body).replace(/\r\n$/, 'Authorization: x\r\n\r\n')),
    ),
    adds('trailer Host', (body) => chunk(chunked(body).replace(/\r\n$/, 'Host: b\r\nHost: c\r\n\r\n'))),
    adds('trailer If-Match', (body) => chunk(chunked(body).replace(/\r\n$/, 'If-Match: "x"\r\n\r\n'))),
    adds('trailer Connection', (body) => chunk(chunked(body).replace(/\r\n$/, 'Connection: x\r\n\r\n'))),
    ...rows(
      {
        'trailer without a name': behind(chunk(chunked('{}').replace(/\r\n$/, ': x\r\n\r\n'))),
        'trailer without a colon': behind(chunk(chunked('{}').replace(/\r\n$/, 'X\r\n\r\n'))),
        'trailer with a space in its name': behind(chunk(chunked('{}').replace(/\r\n$/, 'X y: 1\r\n\r\n'))),
        'trailer with a NUL': behind(chunk(chunked('{}').replace(/\r\n$/, 'X: \0\r\n\r\n'))),
        'trailer with bare LF': behind(chunk(chunked('{}').replace(/\r\n$/, 'X: 1\n\r\n'))),
        'a request in place of a trailer': chunk(`2\r\n{}\r\n0\r\n${smuggled}`),
      },
      400,
    ),
    ...rows(
      sizes(
        (size) => `+${size}`,
        (size) => `-${size}`,
        (size) => `0x${size}`,
        (size) => `${size}h`,
        (size) => `${size}.0`,
        (size) => `${size}g`,
        (size) => `${size},${size}`,
        (size) => `${size}_`,
        (size) => ` ${size}`,
        (size) => `\t${size}`,
        (size) => `\x0b${size}`,
        (size) => `${size}\0`,
        (size) => `${size}\x0b`,
        (size) => `${size}\xa0`,
        (size) => `${size} ${size}`,
        (size) => `"${size}"`,
        (size) => `${size}\r`,
        (size) => `${size}\rx`,
        (size) => `${size};\n`,
        (size) => `${size};a\nb`,
        (size) => `${size};a="\n"`,
        (size) => `${size};a\0`,
        () => '',
        () => ';a',
        () => 'g',
        () => '-1',
        () => '-0',
        () => '\xef\xbc\x92',
        () => 'ffffffffffffffff2',
        () => '10000000000000002',
        () => 'f'.repeat(17),
        () => `${'f'.repeat(5_000)}`,
      ),
      400,
    ),
    ...rows(
      {
        'chunk longer than its size': chunk(`1\r\n{}\r\n0\r\n\r\n${smuggled}`),
        'chunk shorter than its size': chunk(`3\r\n{}\r\n0\r\n\r\n${smuggled}`),
        'chunk without CRLF behind it': chunk(`2\r\n{}0\r\n\r\n${smuggled}`),
        'chunk with bare LF behind it': chunk(`2\r\n{}\n0\r\n\r\n${smuggled}`),
        'chunk with bare CR behind it': chunk(`2\r\n{}\r0\r\n\r\n${smuggled}`),
        'chunk with other bytes for CRLF': chunk(`2\r\n{}xx0\r\n\r\n${smuggled}`),
        'chunk size with bare LF': chunk(`2\n{}\r\n0\r\n\r\n${smuggled}`),
        'chunks with bare LF everywhere': chunk(`2\n{}\n0\n\n${smuggled}`),
        'last chunk with bare LF': chunk(`2\r\n{}\r\n0\n\n${smuggled}`),
        'last chunk with CR CR LF': chunk(`2\r\n{}\r\n0\r\r\n\r\n${smuggled}`),
        'end of the chunks with bare LF': chunk(`2\r\n{}\r\n0\r\n\n${smuggled}`),
        'end of the chunks with bare CR': chunk(`2\r\n{}\r\n0\r\n\rX${smuggled}`),
        'chunked in HTTP/1.0': chunk(chunked(record('n'))).replace('HTTP/1.1', 'HTTP/1.0'),
        'chunked in HTTP/1.0 that is kept alive': framed(
          'Connection: keep-alive\r\nTransfer-Encoding: chunked',
          `${chunked('{}')}${smuggled}`,
        ).replace('HTTP/1.1', 'HTTP/1.0'),
        'no chunk at all': chunk(smuggled),
      },
      400,
    ),
    ...cutRows(
      {
        'a missing body': framed('Content-Length: 5', ''),
        'a body cut short': framed('Content-Length: 500', record('n')),
        'a body cut by one byte': framed(`Content-Length: ${record('n').length + 1}`, record('n')),
        'no last chunk': chunk(`${record('n').length.toString(16)}\r\n${record('n')}\r\n`),
        'last chunk cut': chunk(chunked(record('n')).slice(0, -2)),
        'end of the chunks cut by one byte': chunk(chunked(record('n')).slice(0, -1)),
        'a chunk of almost 2^64 bytes': chunk('fffffffffffffff0\r\n{}'),
        'a chunk of 2^63 bytes': chunk('8000000000000000\r\n{}'),
        'a chunk of 2^31 bytes': chunk('80000000\r\n{}'),
      },
      400,
    ),
    ...rows(
      {
        'a length of a gigabyte': framed('Content-Length: 1073741824', smuggled),
        'a length of 2^53 + 1': framed('Content-Length: 9007199254740993', smuggled),
        'a length of almost 2^64': framed('Content-Length: 18446744073709551615', smuggled),
        'a chunk too long': chunk(`11170\r\n${'x'.repeat(70_000)}\r\n0\r\n\r\n${smuggled}`),
        'chunks too long together': chunk(
          `${`1000\r\n${'x'.repeat(4_096)}\r\n`.repeat(17)}0\r\n\r\n${smuggled}`,
        ),
        'chunk extensions too long': chunk(`2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n${smuggled}`),
      },
      413,
    ),
    ...rows(
      {
        'a request in the body of an unauthenticated one':
          deletion({ 'Content-Length': `${smuggled.length}` }) + smuggled,
        'a request in the chunk of an unauthenticated one':
          deletion({ 'Transfer-Encoding': 'chunked' }) + chunked(smuggled) + smuggled,
      },
      403,
    ),
    ...rows(
      {
        'a request within the body of a GET': send(`GET ${list}`, {}, smuggled),
        'a request within the chunk of a GET': send(
          `GET ${list}`,
          { 'Transfer-Encoding': 'chunked' },
          chunked(smuggled),
        ),
        'a request within the body of a HEAD': send(`HEAD ${list}`, {}, smuggled),
      },
      200,
    ),
    ...rows({ 'a request within the body of OPTIONS': send(`OPTIONS ${list}`, {}, smuggled) }, 204),
    ...rows({ 'a request within the body of a refused method': send(`PUT ${list}`, {}, smuggled) }, 405),
    ...rows({ 'a request within the body of an unknown path': send('POST /x', {}, smuggled) }, 404),
    ...rows({ 'a request within a body that is no JSON': send(`POST ${list}`, {}, smuggled) }, 415),
    ...rows({ 'a request within a login': send('POST /login', {}, `{}${smuggled}`) }, 415),
    ...rows(
      { 'a length too short for the body': framed('Content-Length: 2', `{}${send('GET /healthz')}`) },
      400,
      200,
    ),
    ...rows({ 'a length too short by one byte': framed('Content-Length: 2', `{}}${smuggled}`) }, 400, 400),
    ...rows({ 'a length that is none': framed('Content_Length: 99\r\nContent-Length: 2', '{}') }, 400),
    ...rows(
      { 'a coding that is none': framed('Transfer_Encoding: chunked', `0\r\n\r\n${smuggled}`) },
      400,
      400,
    ),
    ...rows({ 'length zero with a chunk behind it': framed('Content-Length: 0') }, 400, 400),
    ...rows(
      { 'a request behind Connection: close': behind(send('GET /healthz', { Connection: 'close' })) },
      200,
    ),
    ...rows({ 'a request behind HTTP/1.0': behind(send('GET /healthz').replace('/1.1', '/1.0')) }, 200),
    ...rows({ 'a request behind a length too long': framed('Content-Length: 70000', '') + smuggled }, 413),
    ...rows({ 'garbage behind a good request': behind(`${send('GET /healthz')}\x01\r\n\r\n`) }, 200, 400),
    ...rows(
      { 'empty lines between requests': `${send('GET /healthz')}\r\n\r\n${send('GET /readyz')}` },
      200,
      200,
    ),
    ...rows(
      {
        'an unauthenticated request behind an authenticated one':
          send('GET /readyz') + send(`GET ${list}`) + deletion({}),
      },
      200,
      200,
      403,
    ),
    ...rows(
      { 'an authenticated request behind an unauthenticated one': deletion({}) + send(`GET ${list}`) },
      403,
      200,
    ),
    ...rows(
      { '1,000 requests at once': 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n'.repeat(1_000) },
      ...Array.from({ length: 1_000 }, () => 200),
    ),
    {
      ...addition(
        'a bad request behind one that is being written',
        `${send(`POST ${list}`, {}, record('written first'))}\0${smuggled}`,
        configuration({ name: 'written first' }),
      ),
      allowed: [[200], [400]],
    },
    // Bytes still in flight must not make the client lose the answer (RFC 9112 section 9.6).
    ...rows({ 'a megabyte behind garbage': `\x01\r\n\r\n${'x'.repeat(1_000_000)}` }, 400),
  ]
}
