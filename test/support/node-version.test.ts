import './node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wrongNode } from './node-version.ts'

const FILE = 'test/main.test.ts'

describe('the Node of the tests', () => {
  it('may be of any minor version', () => {
    for (const running of ['26.10.0', '26.0.0', '26.11.3'])
      assert.equal(wrongNode(running, '26.10.0', FILE), undefined)
  })

  it('names the running and the needed Node, and what to type instead', () => {
    for (const running of ['20.20.2', '2.6.10', '260.10.0', '27.0.0'])
      assert.equal(
        wrongNode(running, '26.10.0', FILE),
        `This is Node ${running}, but the tests need Node 26.10.0; run: node_modules/.bin/node --test ${FILE}`,
      )
  })
})
