import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildReference } from '../../scripts/build/reference/reference.ts'
import { aFolder } from '../support/a-folder.ts'
import { readContract } from '../support/conformance/contract.ts'

const folder = aFolder()
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

  it('shows each exchange of the conversation: the request, and its answer', () => {
    const { operations } = readContract()
    const section = (name: string) => page.split(`<section id="${name}">`)[1]?.split('</section>')[0] ?? ''
    const bare = operations.filter(({ name }) => !section(name).includes('<h4>Examples</h4>'))

    expect(bare.map(({ name }) => name)).toEqual(['openapi'])
    expect(section('remove')).toMatch(
      /<strong>204<\/strong> A task is removed<\/summary>\s*<pre tabindex="0"><code>DELETE \/v1\/tasks\/resize:img-1<\/code><\/pre>\s*<pre tabindex="0"><code>204<\/code><\/pre>/,
    )
    expect(section('list')).toContain(
      'GET /v1/tasks?type=resize&amp;status=delayed&amp;status=ready&amp;order=due',
    )
    expect(section('health')).toContain('<code>GET /healthz</code>')
    // A request that would be too long to show is left out; its answer is not.
    expect(section('publish')).toMatch(
      /An input of more than 350 KB<\/summary>\s*<pre tabindex="0"><code>413/,
    )
  })

  it('has at most 60 KB, zipped', () => {
    expect(gzipSync(page).byteLength).toBeLessThanOrEqual(60_000)
  })
})
