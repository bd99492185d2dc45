import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type Shown, type TestApi } from '../../support/http/an-api.ts'

let api: TestApi
let description: Shown
beforeAll(async () => {
  api = await anApi()
  description = (await api.call('GET', '/v1/openapi.json')).body
})

const operations = () =>
  Object.entries<Shown>(description.paths).flatMap(([path, methods]) =>
    Object.entries<Shown>(methods).map(([method, operation]) => ({ path, method, operation })),
  )

describe('the OpenAPI description', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(description))

    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  it('names each operation once, and its parameters as its path does', () => {
    const ids = operations().map(({ operation }) => operation.operationId)

    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, operation } of operations()) {
      const named = operation.parameters
        .filter((one: Shown) => one.in === 'path')
        .map((one: Shown) => one.name)
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('refers only to definitions that exist', () => {
    const text = JSON.stringify(description)
    const targets = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? '')

    expect(targets.length).toBeGreaterThan(20)
    expect(targets.filter(name => !(name in description.components.schemas))).toEqual([])
    expect(text).not.toContain('$defs')
  })
})
