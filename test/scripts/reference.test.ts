import { globSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildReference } from '../../scripts/build/reference/reference.ts'
import { readContract } from '../support/conformance/contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'reference-'))
let page = ''

beforeAll(() => {
  buildReference(folder)
  page = readFileSync(join(folder, 'docs.html'), 'utf8')
})

describe('the reference of the API', () => {
  it('shows every operation and every schema', () => {
    const { operations, document } = readContract()
    const ids = [...page.matchAll(/<section id="([^"]+)"/g)].map(([, id]) => id)

    expect(ids.sort()).toEqual(
      [
        ...operations.map(({ name }) => name),
        ...Object.keys(document.components.schemas).map(name => `schema-${name}`),
      ].sort(),
    )
  })

  it('has a place for each link to itself', () => {
    const places = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)

    expect(links.length).toBeGreaterThan(200)
    expect(links.filter(id => !places.has(id))).toEqual([])
  })

  it('needs no script, no style of its own and nothing from elsewhere, as the policy of the dashboard demands', () => {
    const files = [...page.matchAll(/(?:src|href)="(?!#)([^"]+)"/g)].map(([, path]) => path)

    expect(page).not.toMatch(/<script|<style|style=|javascript:| on\w+=/)
    expect(new Set(files)).toEqual(
      new Set(['/icon.svg', `/${globSync('assets/*.css', { cwd: folder })[0]}`, '/', '/v1/openapi.json']),
    )
  })

  it('shows text of the document as text', () => {
    expect(page).toContain('&quot;type&quot;: &quot;resize&quot;')
    expect(page).not.toContain('undefined')
    expect(page).not.toContain('[object Object]')
  })

  it('has at most 40 KB, zipped', () => {
    expect(gzipSync(page).byteLength).toBeLessThanOrEqual(40_000)
  })
})
