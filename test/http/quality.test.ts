import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { qualityOf } from '../../src/http/quality.ts'

describe('qualityOf', () => {
  const rows: [header: string | undefined, quality: number | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['*', undefined],
    ['br', undefined],
    ['gzipx, xgzip, x-gzip, gzip/1', undefined],
    ['"gzip"', undefined],
    ['gzip', 1],
    ['GZip', 1],
    [' br ,\tgzip\t', 1],
    [',,gzip,,', 1],
    ['gzip;q=1', 1],
    ['gzip;q=1.000', 1],
    ['gzip ; Q=0.5', 0.5],
    ['gzip;level=1;q=0.125', 0.125],
    ['gzip;level=1', 1],
    ['gzip;q=0', 0],
    ['gzip;q=0.000', 0],
    ['gzip;q=0, gzip;q=1', 0],
    ['gzip;q=', 0],
    ['gzip;q=-1', 0],
    ['gzip;q=2', 0],
    ['gzip;q=1.1', 0],
    ['gzip;q=0.1234', 0],
    ['gzip;q=.5', 0],
    ['gzip;q=1e0', 0],
    ['gzip;q="1"', 0],
    ['gzip;q=x', 0],
    ['gzip;quality=0', 1],
  ]
  for (const [header, quality] of rows) {
    it(`of ${header === undefined ? 'no header' : JSON.stringify(header)}: ${quality}`, () => {
      assert.equal(qualityOf(header, 'gzip'), quality)
    })
  }
})
