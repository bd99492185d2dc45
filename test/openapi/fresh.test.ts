import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openApiOf } from '../../openapi/openapi.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { type Part, readContract } from '../support/conformance/contract.ts'

/**
 * Whether the OpenAPI document is that of the present sources. To read the comments on fields as the generator does takes the compiler 10
 * seconds, so these tests make the rest of the document again, and look for its descriptions among the comments. A slow test makes all of it.
 */

const ROOT = resolve(import.meta.dirname, '../..')
const { document } = readContract()

it('the document has the present operations, schemas and examples; else run: npm run openapi', async () => {
  const made: Part = JSON.parse(JSON.stringify(await openApiOf(ALL_OPERATIONS, undefined)))

  expect(made.paths['/v1/tasks'].post.requestBody.content['application/json'].examples).toBeDefined()
  expect(withoutFieldDescriptions(document)).toEqual(withoutFieldDescriptions(made))
})

describe('the descriptions of fields', () => {
  let comments: Comment[]
  beforeAll(() => {
    const files = globSync(['shared/api/**/*.ts', 'shared/core/**/*.ts'], { cwd: ROOT })
    comments = files.flatMap(commentsIn)
  })

  it('are the present comments in the sources; else run: npm run openapi', () => {
    const [words, defaults] = [
      new Set(comments.map(one => one.words)),
      new Set(comments.map(one => one.default)),
    ]
    const described = descriptionsIn(document.components.schemas)

    const stale = described.filter(one => !words.has(one.words) && !OF_CODE.test(one.words))
    const staleDefaults = described.filter(
      one => one.default !== undefined && !OF_OPTIONS.includes(one.default) && !defaults.has(one.default),
    )

    expect(described.length).toBeGreaterThan(400)
    expect(stale).toEqual([])
    expect(staleDefaults).toEqual([])
  })

  it('leave out no comment on a member of a schema; else run: npm run openapi', () => {
    const words = new Set(descriptionsIn(document).map(one => one.words))
    const ofMembers = comments.filter(one => one.file.startsWith('shared/api/') && one.isOnMember)

    expect(ofMembers.length).toBeGreaterThan(300)
    expect(ofMembers.filter(one => !words.has(one.words))).toEqual([])
  })
})

/** The document without the descriptions of fields. */
function withoutFieldDescriptions(part: Part, isSchema = false): Part {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map(one => withoutFieldDescriptions(one, isSchema))
  const kept = Object.entries(part).filter(
    ([name, value]) => !(isSchema && name === 'description' && typeof value === 'string'),
  )
  return Object.fromEntries(
    kept.map(([name, one]) => [name, withoutFieldDescriptions(one, isSchema || HOLD_FIELDS.includes(name))]),
  )
}

/** Below these the descriptions come from comments. */
const HOLD_FIELDS = ['schema', 'schemas', 'parameters']

type Described = { readonly words: string; readonly default?: string }

type Comment = Described & { readonly file: string; readonly isOnMember: boolean }

/** Descriptions that the code gives. Only the slow test compares them. */
const OF_CODE = /^What API Gateway|^Name of a task type$|^Dotted numbers$|^Higher comes first$/
/** What the generator says of an option in a patch, whose comment speaks of a publish. */
const OF_OPTIONS = ['the present value']

function descriptionsIn(part: Part): Described[] {
  if (typeof part !== 'object' || part === null) return []
  const own = typeof part.description === 'string' ? [readDescription(part.description)] : []
  return [...own, ...Object.values(part).flatMap(descriptionsIn)]
}

function readDescription(text: string): Described {
  const [, words = text, whenLeftOut] =
    /^(.*?)(?: Default: (?:the value of the type, else )?(.*)\.)?$/s.exec(text) ?? []
  return { words, ...(whenLeftOut !== undefined && { default: whenLeftOut }) }
}

function commentsIn(file: string): Comment[] {
  const text = readFileSync(resolve(ROOT, file), 'utf8')
  return [...text.matchAll(/\/\*\*(.*?)\*\/\s*(?=([^\n]*))/gs)].map(([, comment = '', next = '']) => {
    const [words = '', whenLeftOut] = oneLine(comment.replaceAll(/^\s*\*/gm, '')).split(/\s*@default\s+/)
    return {
      file,
      words,
      // The members of types have `readonly` or `?`, and those of schemas have neither.
      isOnMember: /^\w+:/.test(next),
      ...(whenLeftOut !== undefined && { default: whenLeftOut }),
    }
  })
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
