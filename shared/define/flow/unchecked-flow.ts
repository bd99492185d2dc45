import type * as checks from './refuse-flow.ts'

/** Takes the place of `refuse-flow.ts` in browsers, which check no definition. See `core/rules/unchecked.ts`. */
export const refuseFlow: typeof checks.refuseFlow = () => undefined
