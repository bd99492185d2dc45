import { hash32 } from '../hash.ts'
import type { FlowDefinition } from './flow.ts'

/** Three hashes of 32 bits: a system has some hundred definitions, and two of one name would be one. */
const SALTS = ['a', 'b', 'c'] as const

/** The name of a flow's steps: the same for the same steps, whoever publishes. */
export function definitionName(content: Omit<FlowDefinition, 'name'>): string {
  const text = JSON.stringify(content)
  return SALTS.map(salt => hash32(`${salt}${text}`).toString(36)).join('')
}
