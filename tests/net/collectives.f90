! SPDX-License-Identifier: Apache-2.0
! collectives.f90 - an MPI program in Fortran that calls the collectives that the pacer
! intercepts and checks the results; with "use mpi", or with -DF08 with "use mpi_f08",
! without its error argument.  Like collectives.c:
!
!	collectives-fortran ITERATIONS
#ifdef F08
#define HANDLE type(MPI_Request)
#define ERROR
#define ERROR_ALONE
#else
#define HANDLE integer
#define ERROR , error
#define ERROR_ALONE error
#endif

program collectives
#ifdef F08
	use mpi_f08
#else
	use mpi
#endif
	implicit none
	integer, parameter :: n = 64
	integer :: rank, n_ranks, iterations, i, j, expected, n_expected
	integer :: in(n), out(n), later(n), counts(8), at(8), ones(8), places(8)
	double precision :: in8(n), out8(n)
	HANDLE :: requests(3)
	character(len=16) :: argument
#ifndef F08
	integer :: error
#endif

	call MPI_Init(ERROR_ALONE)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank ERROR)
	call MPI_Comm_size(MPI_COMM_WORLD, n_ranks ERROR)
	call get_command_argument(1, argument)
	read (argument, *) iterations
	do j = 1, n_ranks
		counts(j) = j
		at(j) = j*(j - 1)/2
		ones(j) = 1
		places(j) = j - 1
	end do
	do i = 1, iterations
		call wait_ms(20)
		expected = 0
		n_expected = 0

		in8 = 0.5d0
		call MPI_Allreduce(in8, out8, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD ERROR)
		call must(all(out8 == 0.5d0*n_ranks), "Allreduce")
		call expect(8*n)
		in = (/(j + rank, j=1, n)/)
		call MPI_Reduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD ERROR)
		call must(out(1) == n_ranks*(at(rank + 1) + 1) + n_ranks*(n_ranks - 1)/2, "Reduce_scatter")
		call expect(4*sum(counts(1:n_ranks)))
		call MPI_Allgather(in, 3, MPI_INTEGER, out, 3, MPI_INTEGER, MPI_COMM_WORLD ERROR)
		call must(out(1) == 1 .and. out(3*n_ranks) == 3 + n_ranks - 1, "Allgather")
		call expect(4*3*n_ranks)
		in = rank
		call MPI_Alltoall(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, MPI_COMM_WORLD ERROR)
		call must(out(1) == 0 .and. out(2*n_ranks) == n_ranks - 1, "Alltoall")
		call expect(4*2*n_ranks)

		in = 1
		call MPI_Iallreduce(in, later, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1) ERROR)
		call MPI_Wait(requests(1), MPI_STATUS_IGNORE ERROR)
		call must(all(later == n_ranks), "Iallreduce")
		call expect(4*n)
		call MPI_Ireduce_scatter_block(in, later, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
			requests(1) ERROR)
		call MPI_Iallgatherv(rank, 1, MPI_INTEGER, out, ones, places, &
			MPI_INTEGER, MPI_COMM_WORLD, requests(2) ERROR)
		call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE ERROR)
		call must(later(1) == n_ranks .and. later(2) == n_ranks, "Ireduce_scatter_block")
		call must(out(n_ranks) == n_ranks - 1, "Iallgatherv")
		call expect(4*2*n_ranks)
		call expect(4*n_ranks)
	end do
	if (rank == 0) print '(a,i0,a,i0,a)', "expected ", expected, " bytes of ", n_expected, " collectives"
	call MPI_Finalize(ERROR_ALONE)

contains
	subroutine must(is_right, what)
		logical, intent(in) :: is_right
		character(len=*), intent(in) :: what
		if (.not. is_right) then
			print *, "collectives: rank ", rank, ": ", what, " is wrong"
			call MPI_Abort(MPI_COMM_WORLD, 1 ERROR)
		end if
	end subroutine

	subroutine expect(bytes)
		integer, intent(in) :: bytes
		expected = expected + bytes
		n_expected = n_expected + 1
	end subroutine

	subroutine wait_ms(ms)
		integer, intent(in) :: ms
		integer(8) :: began, now, rate
		call system_clock(began, rate)
		do
			call system_clock(now)
			if ((now - began)*1000 >= ms*rate) exit
		end do
	end subroutine
end program
