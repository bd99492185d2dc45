import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

type Violation = { readonly id: string; readonly impact: string; readonly nodes: Array<{ target: string[] }> }

/** The serious findings on a page. The script of axe comes by the debugger, which the policy of the page does not concern. */
export async function findingsOf(page: Page, path: string): Promise<string[]> {
  await page.evaluate(readFileSync(AXE, 'utf8'))
  const violations = (await page.evaluate(
    '(async () => { const { violations } = await axe.run(document); return violations })()',
  )) as Violation[]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${path}: ${id} at ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}
