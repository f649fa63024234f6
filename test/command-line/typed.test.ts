import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { relative } from 'node:path'
import { describe, it } from 'node:test'
import { typedAs, typedProgram } from '../../src/command-line/typed.ts'

const file = '/srv/connbook.cjs'
const node = '/usr/bin/node'

describe('what a shell takes for the program', () => {
  it('is connbook in the executable and in a run from source', () => {
    assert.equal(typedProgram(undefined, { _: '/usr/bin/connbook' }, node), 'connbook')
  })

  it('is Node and the file, or the file alone where a shell has started that itself', () => {
    assert.equal(typedProgram(file, {}, node), `${node} ${file}`)
    for (const started of [node, '/usr/bin/sudo', '']) {
      assert.equal(typedProgram(file, { _: started }, node), `${node} ${file}`)
    }
    for (const started of [file, relative(process.cwd(), file)])
      assert.equal(typedProgram(file, { _: started }, node), file)
  })

  it('is quoted where a shell needs that', () => {
    assert.equal(typedProgram('/a b/connbook.cjs', {}, node), `${node} '/a b/connbook.cjs'`)
  })
})

describe('a text for people', () => {
  const program = `${node} ${file}`
  const typed = typedAs(program, ['ls', 'user', 'help'])

  it('names the commands that work', () => {
    for (const [text, expected] of [
      ['see connbook help ls', `see ${program} help ls`],
      [
        'run "connbook user add eve"; or connbook --port 80',
        `run "${program} user add eve"; or ${program} --port 80`,
      ],
      [
        'connbook [serve] [FLAGS]\n\n  connbook   # serve',
        `${program} [serve] [FLAGS]\n\n  ${program}   # serve`,
      ],
      ['connbook help TOPIC; connbook TOPIC', `${program} help TOPIC; ${program} TOPIC`],
      ['\u001b[1mconnbook ls [FLAGS]\u001b[0m', `\u001b[1m${program} ls [FLAGS]\u001b[0m`],
      ['connbook ls | connbook ls -', `${program} ls | ${program} ls -`],
    ] as const)
      assert.equal(typed(text), expected)
  })

  it('keeps the name of the program in a sentence, a path and a message', () => {
    for (const text of [
      'connbook keeps named connections',
      'connbook: Cannot read "data"',
      'the folder /srv/connbook ls',
      'a newer connbook, which',
      'connbook.service user',
    ])
      assert.equal(typed(text), text)
    assert.equal(typedAs('connbook', ['ls'])('connbook ls'), 'connbook ls')
  })
})
