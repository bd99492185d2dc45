import { defineFlow } from 'baton-tasks'
import { z } from 'zod'
import { bill, notify, order, resize, ship } from './definitions.js'

const input = z.object({ sku: z.string() })

// expect-error: Type 'ZodString' is not assignable to type 'StandardSchemaV1<object, unknown>'.
defineFlow('x', { input: z.string(), steps: [{ name: 'a', do: notify }] })

const steps = [{ name: 'a', do: notify }] as const

// expect-error: Type '"skew"' is not assignable to type
defineFlow('x', { input, limits: { concurrency: { max: 1, key: 'skew' } }, steps })

// expect-error: Wrong<"give the step an 'input': 'ship' does not accept the flow's parameters", "ids">
defineFlow('x', { input, steps: [{ name: 'a', do: ship }] })

// expect-error: Wrong<"give the step an 'input': 'ship' does not accept the flow's parameters", "ids">
defineFlow('x', { input, steps: [{ name: 'a', do: { task: ship, timeoutMs: 1 } }] })

// expect-error: Wrong<"give the step an 'input': 'ship' does not accept the flow's parameters", "ids">
defineFlow('x', { input, steps: [{ name: 'a', do: notify, undo: ship }] })

// expect-error: Wrong<"the flow does not have the 'params' of 'bill'", "pack">
defineFlow('x', { input, steps: [{ name: 'a', do: bill }] })

// expect-error: Type '[1]' is not assignable to type 'readonly [1] & readonly string[]'.
defineFlow('x', { input, steps: [{ name: 'a', do: ship, input: { ids: [1] } }] })

// expect-error: Type '[1]' is not assignable to type 'readonly [1] & readonly string[]'.
defineFlow('x', { input, steps: [{ name: 'a', do: { task: ship, input: { ids: [1] } } }] })

// expect-error: 'doo' does not exist in type 'FlowStep'.
defineFlow('x', { input, steps: [{ name: 'a', doo: resize }] })

// expect-error: Wrong<"'retires' is not a field here", never>
defineFlow('x', { input, steps: [{ name: 'a', do: notify, retires: 3 }] })

// expect-error: Wrong<"'retires' is not a field here", never>
defineFlow('x', { input, steps: [{ name: 'a', do: { task: notify, retires: 3 } }] })

// expect-error: Type 'Flow<{ sku: string; cents: number; },
defineFlow('x', { input, steps: [{ name: 'a', do: order }] })

// expect-error: 'onCancle' does not exist in type 'FlowSettings
defineFlow('x', { input, steps: [{ name: 'a', do: notify }], onCancle: 'undo' })
