import type * as checks from './type-configuration.ts'

/**
 * Takes the place of `type-configuration.ts` in browsers and in the bundles of handlers. A browser imports a definition only to publish
 * its tasks, and never deploys it. The rules are half of what it would load. The synthesis has checked the definition of a handler
 * before it bundles it. Synthesis, standalone workers and tests run in Node, which checks each definition.
 */
export const definitionProblems: typeof checks.definitionProblems = () => []
export const typeNameProblems: typeof checks.typeNameProblems = () => []
export const refuseConfiguration: typeof checks.refuseConfiguration = () => undefined
export const refuseFields: typeof checks.refuseFields = () => undefined
