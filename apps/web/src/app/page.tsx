import type { ReactNode } from 'react';

export default function HomePage(): ReactNode {
  return <main>Millrace</main>;
}
