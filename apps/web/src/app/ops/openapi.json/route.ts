import { openApiDocument } from '../../../server/ops/openapi.ts';

export const dynamic = 'force-dynamic';

/** For everybody: it holds nothing of the installation. */
export function GET(): Response {
  return Response.json(openApiDocument());
}
