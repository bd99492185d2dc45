import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../shared/api/endpoints.ts'
import { idOf } from '../../shared/api/paths.ts'

const segmentIn = (path: string) => path.slice(path.lastIndexOf('/') + 1)

describe('an id in a path', () => {
  it('survives a client that normalises URLs and a gateway that decodes once', () => {
    const character = fc.constantFrom(
      'a',
      '/',
      '?',
      '#',
      '%',
      '4',
      '1',
      '\\',
      '.',
      ' ',
      '~',
      ':',
      '日',
      '😀',
      '+',
      '',
    )
    const id = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: character }), fc.webUrl())
    fc.assert(
      fc.property(
        id.filter(text => text !== ''),
        text => {
          const { pathname } = new URL(pathOf('getSchedule', text), 'http://baton.test')
          const delivered = decodeURIComponent(pathname).split('?')[0] ?? ''

          expect(delivered.split('/')).toHaveLength(4)
          expect(idOf(segmentIn(delivered))).toBe(text)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['resize:img-1', 'resize%3Aimg-1'],
    ['a.b_c-1:x:y@z,=+', 'a.b_c-1%3Ax%3Ay%40z%2C%3D%2B'],
    ['t:日本 é', 't%3A%E6%97%A5%E6%9C%AC%20%C3%A9'],
    ['t:..', 't%3A..'],
    ['..', '~Li4'],
    ['.', '~Lg'],
    ['é:a', '~w6k6YQ'],
    ['a b', '~YSBi'],
    ['t:a/b', '~dDphL2I'],
    ['t:k~1', '~dDprfjE'],
    ['~a', '~fmE'],
  ])('%j is written as %s', (id, segment) => {
    expect(segmentIn(pathOf('get', id))).toBe(segment)
    expect(idOf(decodeURIComponent(segment))).toBe(id)
  })

  it('with half a surrogate pair does not reach another id', () => {
    expect(idOf(segmentIn(pathOf('get', 't:\ud800')))).toBeUndefined()
  })

  it.each([
    ['nothing', ''],
    ['the mark alone', '~'],
    ['text that is not base64url', '~dDp!'],
    ['base64 of another alphabet', '~4pyT/w=='],
    ['bytes that are not UTF-8', '~_w'],
    ['bits behind the end', '~YR'],
    ['a slash', 't:a/b'],
    ['a percent sign', 't:x%41'],
    ['a number sign', 't:a#b'],
    ['a control character', 't:a\nb'],
    ['dots', '..'],
  ])('cannot be written as %s', (_what, segment) => {
    expect(idOf(segment)).toBeUndefined()
  })

  it('may be written with the padding of base64url', () => {
    expect(idOf('~YQ==')).toBe('a')
  })
})
