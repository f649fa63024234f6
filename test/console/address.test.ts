import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Address,
  formatAddress,
  home,
  listPath,
  nextSort,
  parseAddress,
} from '../../src/console/address.ts'

const there: Address = {
  ...home,
  view: 'records',
  record: '',
  q: 'a&b=ü ',
  sort: '-port',
  page: 3,
  filters: [
    ['prefix', 'web'],
    ['label', 'env=prod'],
    ['label', 'a=b=c'],
  ],
}

describe('the address of the console', () => {
  it('is read as it was written', () => {
    const others: Address[] = [
      { ...home, view: 'status' },
      { ...home, view: 'activity', by: 'a&b', since: '7d', only: 'deleted' },
      { ...there, record: '../a&b=ü \u202e' },
    ]
    for (const address of [home, there, ...others])
      assert.deepEqual(parseAddress(formatAddress(address)), address)
  })

  it('may have the name that the status had once', () => {
    assert.equal(parseAddress('?view=operation').view, 'status')
  })

  it('is empty for the first view', () => {
    assert.equal(formatAddress(home), '?')
    assert.deepEqual(parseAddress(''), home)
  })

  it('drops invalid parts', () => {
    const typed = '?view=x&since=1y&only=x&sort=id&page=-1&port=&color=red&q=%'
    assert.deepEqual(parseAddress(typed), { ...home, q: '%' })
    for (const page of ['0', '1.5', 'x', '1e99']) assert.equal(parseAddress(`?page=${page}`).page, 0)
  })

  it('asks the API for one page', () => {
    assert.equal(
      listPath(there),
      'configurations/?prefix=web&label=env%3Dprod&label=a%3Db%3Dc&q=a%26b%3D%C3%BC+&sort=-port&page=3&per_page=50',
    )
    assert.equal(listPath(home), 'configurations/?sort=name&page=0&per_page=50')
  })

  it('turns the order of a field around', () => {
    assert.deepEqual(
      [nextSort('name', 'port'), nextSort('port', 'port'), nextSort('-port', 'port')],
      ['port', '-port', 'port'],
    )
  })
})
